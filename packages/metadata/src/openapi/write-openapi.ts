import { writeFileSync } from 'node:fs'
import { openApiDescription } from './openapi-description.ts'

const description = openApiDescription({ origin: 'https://plainpath.example' })
writeFileSync(new URL('../../openapi.json', import.meta.url), `${JSON.stringify(description, null, 2)}\n`)
