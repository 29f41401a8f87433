import { writeFileSync } from 'node:fs'
import { createServiceUrls } from '../service-urls.ts'
import { createOpenApiDescription } from './openapi-description.ts'

const description = createOpenApiDescription(createServiceUrls('https://plainpath.example'))
writeFileSync(new URL('../../openapi.json', import.meta.url), `${JSON.stringify(description, null, 2)}\n`)
