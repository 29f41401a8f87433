import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openApiDescription } from './openapi-description.ts'

const COMMITTED = fileURLToPath(new URL('../../openapi.json', import.meta.url))
const ORIGIN = 'https://plainpath.example'

/** Writes the description to the file that is named, or over the committed copy. */
const [file = COMMITTED] = process.argv.slice(2)
const description = openApiDescription({ origin: ORIGIN })
writeFileSync(file, `${JSON.stringify(description, null, 2)}\n`)
