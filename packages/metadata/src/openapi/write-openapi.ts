import { writeFileSync } from 'node:fs'
import { serviceUrls } from '../service-urls.ts'
import { openApiDescription } from './openapi-description.ts'

const description = openApiDescription(serviceUrls('https://plainpath.example'))
writeFileSync(new URL('../../openapi.json', import.meta.url), `${JSON.stringify(description, null, 2)}\n`)
