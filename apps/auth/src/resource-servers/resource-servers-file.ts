import { randomBytes } from 'node:crypto'
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { type ResourceServer, ResourceServers } from './resource-servers.ts'

/** @throws when it cannot be read, or holds something else; never quoting it */
export async function readResourceServers(file: string): Promise<readonly ResourceServer[]> {
  return parseResourceServers(await readFile(file, 'utf8'))
}

/** @throws {Error} that says nothing of the text, which may be a secret in the wrong file */
export function parseResourceServers(text: string): readonly ResourceServer[] {
  try {
    return ResourceServers.parse(JSON.parse(text))
  } catch {
    throw new Error('is not a list of resource servers')
  }
}

/** Replaces a file by one rename, so that whoever reads sees the old text or the new one. It keeps mode and owner. */
export async function replaceFile(file: string, text: string): Promise<void> {
  // A link stays a link.
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
 * Writes a file that must not exist yet, and returns when it is on disk.
 *
 * @param like a file whose readers shall be able to read this one; where there is none, only its owner may
 */
export async function writeDurably(file: string, text: string, like: string): Promise<void> {
  const known = await stat(like).catch(() => undefined)
  await using handle = await open(file, 'wx', 0o600)
  const own = await handle.stat()
  if (known && (known.uid !== own.uid || known.gid !== own.gid)) await handle.chown(known.uid, known.gid)
  await handle.chmod(known ? known.mode & 0o777 : 0o600)
  await handle.writeFile(text)
  await handle.sync()
}

export const exists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  )
