/** Watches all rows of a dataset for what no single row shows. */
export interface RowWatch<Row extends object> {
  /** @param where file and line */
  see(row: Row, where: string): void;
  /**
   * @param name the dataset as errors name it
   * @throws KitError `DATASET_INVALID` for rows that cannot be trained on
   */
  tell(name: string, note: (text: string) => void): void;
}
