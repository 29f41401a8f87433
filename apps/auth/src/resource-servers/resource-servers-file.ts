import { randomBytes } from 'node:crypto'
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { type ResourceServer, ResourceServers } from './resource-servers.ts'

/** Reads the file. @throws when it cannot be read or its content is invalid; the message never quotes the content */
export async function readResourceServers(file: string): Promise<readonly ResourceServer[]> {
  return parseResourceServers(await readFile(file, 'utf8'))
}

/** Parses the file. @throws {Error} that does not quote the text, which may be a secret in the wrong file */
export function parseResourceServers(text: string): readonly ResourceServer[] {
  try {
    return ResourceServers.parse(JSON.parse(text))
  } catch {
    throw new Error('is not a list of resource servers')
  }
}

/** Replaces a file by a rename, so that readers see either the old text or the new one. Keeps mode and owner. */
export async function replaceFile(file: string, text: string): Promise<void> {
  // A symbolic link stays one.
  const target = await realpath(file).catch(() => file)
  const beside = path.join(
    path.dirname(target),
    `.${path.basename(target)}.${randomBytes(6).toString('hex')}`,
  )
  try {
    await writeDurably(beside, text, target)
    await rename(beside, target)
  } finally {
    await rm(beside, { force: true })
  }
}

/**
 * Writes a file that must not exist yet, and returns once it is on disk.
 *
 * @param like a file whose owner and mode the new one gets; if it does not exist, only the owner may read the new one
 */
export async function writeDurably(file: string, text: string, like: string): Promise<void> {
  const model = await stat(like).catch(() => undefined)
  await using handle = await open(file, 'wx', 0o600)
  const own = await handle.stat()
  if (model && (model.uid !== own.uid || model.gid !== own.gid)) await handle.chown(model.uid, model.gid)
  await handle.chmod(model ? model.mode & 0o777 : 0o600)
  await handle.writeFile(text)
  await handle.sync()
}

export const exists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  )
