import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A temporary folder. Disposing it removes the folder and its content. */
export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string
}

/**
 * Creates a temporary folder that every user of the machine can read. If this process is root, the database server runs as another
 * user, which must be able to enter the folder. If that user cannot, `useEmbeddedPostgres` puts its data directory somewhere else,
 * where nothing removes it.
 *
 * @param name a part of the folder's name that says what the folder is for
 */
export async function createTemporaryFolder(name: string): Promise<TemporaryFolder> {
  const folder = await mkdtemp(path.join(tmpdir(), `plainpath-${name}-`))
  await chmod(folder, 0o755)
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
