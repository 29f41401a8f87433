import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { billOfMaterials, componentsOf } from './dependencies/bill-of-materials.ts'

const root = path.resolve(import.meta.dirname, '..')
const file = path.join(root, 'sbom.json')

/** Writes what is installed as CycloneDX. `npm run sbom -- --prod` leaves out what only developers use. */
const bom = billOfMaterials(root, process.argv.slice(2))
writeFileSync(file, bom)
console.log(`${file}: ${componentsOf(bom).length} packages`)
