export { holdLock } from './advisory-lock.ts'
export { BackupError, readBackupHeader } from './backup/backup-file.ts'
export { loadBackup, openRestoredDatabase } from './backup/load-backup.ts'
export { writeBackup } from './backup/write-backup.ts'
export { type Database, isClockSynchronised, openPool, type Pool, readDatabaseTime } from './database.ts'
export { isUnavailable } from './database-error.ts'
export { findDatabaseMistake } from './database-mistake.ts'
export { deleteBatch } from './delete-batch.ts'
export { EmbeddedPostgresError } from './embedded/binaries.ts'
export { type EmbeddedPostgres, useEmbeddedPostgres } from './embedded/embedded-postgres.ts'
export { findRunningServer } from './embedded/postmaster.ts'
export { isSchemaCurrent, listMissingMigrations, migrate } from './migrate.ts'
export { listen } from './persistent-connection.ts'
export { createReservedPool, type ReservedPool } from './reserved-pool.ts'
export { rewriteColumn } from './rewrite-column.ts'
export {
  computeScramVerifier,
  ensureRolesAndDatabases,
  restrictServerDatabases,
} from './roles-and-databases.ts'
export { createRowReader } from './row-reader.ts'
