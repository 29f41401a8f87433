import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { runWithPnpm } from './run-with-pnpm.ts'

const root = path.resolve(import.meta.dirname, '..')
const file = path.join(root, 'sbom.json')

/** Writes the installed packages as CycloneDX. `npm run sbom -- --prod` omits development packages. */
const command = ['pnpm', 'sbom', '--sbom-format', 'cyclonedx', ...process.argv.slice(2)]
const { stdout, failure } = runWithPnpm(root, command)
if (failure) throw new Error(failure)
writeFileSync(file, stdout)
const { components } = JSON.parse(stdout) as { components: unknown[] }
console.log(`${file}: ${components.length} packages`)
