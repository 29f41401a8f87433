import { type Database, MAX_CLOCK_DIFFERENCE_MS, readDatabaseTime } from './database.ts'
import { compareMigrations } from './migrate.ts'

/**
 * Finds the reason why a command must not use a database: it is a standby, it lacks this release's tables or has newer
 * ones, or its clock differs from this machine's clock by more than 30 s. Servers are more lenient, because they must
 * run on newer tables.
 *
 * @param app the app's name on the command line, such as `auth`
 * @param variable the setting that names the database
 * @param folder the folder with this release's migrations
 * @param isReleaseRunning resolves to true if an instance of this release already runs on the newer tables, as after a
 *   rollback; by default, false
 * @param readWallMs reads this machine's clock in milliseconds, like `Date.now`
 * @returns a sentence with the mistake and its remedy; undefined if the command may use the database
 */
export async function findDatabaseMistake(
  db: Database,
  {
    app,
    variable,
    folder,
    isReleaseRunning = async () => false,
  }: { app: string; variable: string; folder: string; isReleaseRunning?: () => Promise<boolean> },
  // oxlint-disable-next-line no-restricted-properties -- the clock that is checked
  readWallMs: () => number = Date.now,
): Promise<string | undefined> {
  const { rows } = await db.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
  if (rows[0]?.standby)
    return `${variable} names a standby of PostgreSQL, which accepts no changes. Set it to the URL of the primary.`
  const { isEmpty, missing, unknown } = await compareMigrations(db, folder)
  if (isEmpty)
    return `${variable} names a database without the tables of ${app}. Set it to the database that the service uses, or create the tables of a new service with "${app} migrate".`
  if (missing.length > 0)
    return `The tables that ${variable} names are older than this release, which needs ${missing.join(', ')}. Run "${app} migrate".`
  if (unknown.length > 0 && !(await isReleaseRunning()))
    return `The tables that ${variable} names are newer than this release, which does not know ${unknown.join(', ')}. Run the command from the release that the service runs.`
  const aheadMs = readWallMs() - (await readDatabaseTime(db)).getTime()
  if (Math.abs(aheadMs) > MAX_CLOCK_DIFFERENCE_MS)
    return `The clock of this machine is ${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of PostgreSQL. Correct the clock that is wrong.`
  return undefined
}
