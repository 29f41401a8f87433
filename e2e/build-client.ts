import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'

const BUILD_SCRIPT = path.resolve(import.meta.dirname, '../scripts/build-client.ts')

export interface BuiltClient extends AsyncDisposable {
  /** The folder of a project in which `@plainpath/client` is installed as it would be published. */
  readonly project: string
  /** The folder with the built JavaScript and types. */
  readonly dist: string
}

/** Builds the client package and installs it in a new, temporary project. Disposing removes the project. */
export async function buildClient(): Promise<BuiltClient> {
  const project = await mkdtemp(path.join(tmpdir(), 'plainpath-client-'))
  const packageFolder = path.join(project, 'node_modules/@plainpath/client')
  await promisify(execFile)(process.execPath, [BUILD_SCRIPT, packageFolder])
  return {
    project,
    dist: path.join(packageFolder, 'dist'),
    [Symbol.asyncDispose]: () => rm(project, { recursive: true, force: true }),
  }
}

export const CLIENT_README = new URL('../packages/client/README.md', import.meta.url)
