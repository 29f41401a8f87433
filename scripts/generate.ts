import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { openRepository } from './repository.ts'
import { renderStoragePage } from './storage-page.ts'

// Writes the committed files that are generated from the code.

const root = path.resolve(import.meta.dirname, '..')
/** Programs that each write one or more of these files. */
const WRITERS = [
  'packages/metadata/src/openapi/write-openapi.ts',
  'packages/client/write-openapi-types.ts',
  'packages/metadata/src/write-retention.ts',
  'apps/local/src/write-commands.ts',
]

for (const writer of WRITERS) {
  execFileSync(process.execPath, [path.join(root, writer)], { cwd: root, stdio: 'inherit' })
}
writeFileSync(path.join(root, 'docs/storage.md'), renderStoragePage(openRepository(root)))
