/** How `ray()` trains: all but the address has a default. */
export interface RayOptions {
  /**
   * The dashboard's URL, such as `http://head:8265`. Default: the variable `RAY_API_SERVER_ADDRESS` or
   * `RAY_ADDRESS`.
   */
  address?: string;
  /**
   * For a cluster that asks for one. Default: the variable `RAY_AUTH_TOKEN`, the file that
   * `RAY_AUTH_TOKEN_PATH` names, `~/.ray/auth_token`. Kept out of logs and records.
   */
  token?: string;
  /** Processes that share each batch; `batchSize` is a multiple of it. Default 1. */
  workers?: number;
  /** May be a fraction. Default 1. */
  cpusPerWorker?: number;
  /** Default 0. */
  gpusPerWorker?: number;
  /**
   * Where checkpoints are kept: a path that every node sees, or a URL such as `s3://bucket/runs`.
   * Needed by a cluster of more than one node. Default: `~/ray_results` on the only one.
   */
  storage?: string;
  /** Packages that Ray installs for this job, as pip names them. */
  pip?: string[];
  /** Lost workers or nodes after which the training fails. Default 3. */
  maxFailures?: number;
}
