/** Permissions before the umask. Others may read some files, such as the bundle, but never write. */
export const OWNER_ONLY = 0o600;
export const OWNER_ONLY_FOLDER = 0o700;
export const OTHERS_READ = 0o644;
export const OTHERS_READ_FOLDER = 0o755;
