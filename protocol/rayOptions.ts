/** How `ray()` trains: all but the address has a default. */
export interface RayOptions {
  /**
   * The dashboard's URL, such as `http://head:8265`. Default: the variable `RAY_API_SERVER_ADDRESS` or
   * `RAY_ADDRESS`. Has no password, since records show it.
   */
  address?: string;
  /**
   * For a cluster that asks for one. Default: the variable `RAY_AUTH_TOKEN`, the file that
   * `RAY_AUTH_TOKEN_PATH` names, `~/.ray/auth_token`. Kept out of logs and records.
   */
  token?: string;
  /** Processes that share each batch; `batchSize` is a multiple of it. At most 10,000. Default 1. */
  workers?: number;
  /** CPU cores of a worker. May be a fraction; 0 only with GPUs. Default 1. */
  cpusPerWorker?: number;
  /** GPUs of a worker: a whole number, or a fraction below 1. A worker computes on one. Default 0. */
  gpusPerWorker?: number;
  /**
   * Where checkpoints are kept: a path that every node sees, or a URL such as `s3://bucket/runs`.
   * Without keys, which the cluster's own environment has. Needed by a cluster of more than one node. Default: `~/ray_results` on the only one.
   */
  storage?: string;
  /** Packages that Ray installs for this job, as pip names them. Default: none. */
  pip?: string[];
  /** How often lost workers are started again before the training fails. Default 3. */
  maxFailures?: number;
}
