import { writeFile } from 'node:fs/promises'
import { generateOpenapiTypes } from './generate-openapi-types.ts'

await writeFile(new URL('./src/openapi-types.ts', import.meta.url), await generateOpenapiTypes())
