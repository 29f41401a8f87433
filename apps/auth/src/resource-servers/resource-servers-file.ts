import { randomBytes } from 'node:crypto'
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { type ResourceServer, ResourceServers } from './resource-servers.ts'

/**
 * Reads a resource servers file (AUTH_RESOURCE_SERVERS_FILE, or a copy).
 *
 * @throws if the file cannot be read, or its content is invalid; the message never quotes the content
 */
export async function readResourceServers(file: string): Promise<readonly ResourceServer[]> {
  return parseResourceServers(await readFile(file, 'utf8'))
}

/**
 * Parses the text of a resource servers file.
 *
 * @throws {Error} if the text is invalid. The message is a predicate: the caller puts the name of the setting before it. It does
 *   not quote the text, because the setting may name a file with a secret by mistake
 */
export function parseResourceServers(text: string): readonly ResourceServer[] {
  try {
    return ResourceServers.parse(JSON.parse(text))
  } catch {
    throw new Error('is not a list of resource servers')
  }
}

/** Replaces a file by a rename, so readers see either the old text or the new text. Keeps mode and owner. */
export async function replaceFile(file: string, text: string): Promise<void> {
  // Replaces the target of a symbolic link, so the link remains. A file that does not exist yet has no target.
  const target = await realpath(file).catch(() => file)
  const temporaryFile = path.join(
    path.dirname(target),
    `.${path.basename(target)}.${randomBytes(6).toString('hex')}`,
  )
  try {
    await writeDurably(temporaryFile, text, target)
    await rename(temporaryFile, target)
  } finally {
    await rm(temporaryFile, { force: true })
  }
}

/**
 * Writes a file that must not exist yet, and returns once it is on disk.
 *
 * @param modelFile a file whose owner and mode are copied; if it does not exist, only the owner may read the new file
 */
export async function writeDurably(file: string, text: string, modelFile: string): Promise<void> {
  const model = await stat(modelFile).catch(() => undefined)
  await using handle = await open(file, 'wx', 0o600)
  const created = await handle.stat()
  if (model && (model.uid !== created.uid || model.gid !== created.gid))
    await handle.chown(model.uid, model.gid)
  await handle.chmod(model ? model.mode & 0o777 : 0o600)
  await handle.writeFile(text)
  await handle.sync()
}

/** Returns whether a file exists. A file that cannot be examined counts as missing. */
export const fileExists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  )
