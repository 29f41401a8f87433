import { execFileSync } from 'node:child_process'
import path from 'node:path'
import process from 'node:process'

const root = path.resolve(import.meta.dirname, '..')
const WRITERS = [
  'packages/metadata/src/openapi/write-openapi.ts',
  'packages/metadata/src/write-retention.ts',
  'scripts/dependencies/write-dependencies.ts',
  'scripts/storage/write-storage.ts',
]

/** Writes every committed file that is made from the code. */
for (const writer of WRITERS) {
  execFileSync(process.execPath, [path.join(root, writer)], { cwd: root, stdio: 'inherit' })
}
