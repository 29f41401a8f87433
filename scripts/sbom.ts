import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { runWithPnpm } from './run-with-pnpm.ts'

/* Writes `sbom.json`, a CycloneDX list of the installed packages. `npm run sbom -- --prod` omits development packages. */

const root = path.resolve(import.meta.dirname, '..')
const outputFile = path.join(root, 'sbom.json')

const command = ['pnpm', 'sbom', '--sbom-format', 'cyclonedx', ...process.argv.slice(2)]
const { stdout, failure } = runWithPnpm(root, command)
if (failure) throw new Error(failure)
writeFileSync(outputFile, stdout)
const { components } = JSON.parse(stdout) as { components: unknown[] }
console.log(`${outputFile}: ${components.length} packages`)
