import { readFile } from 'node:fs/promises'
import openapiTypescript, { astToString } from 'openapi-typescript'

const HEADER = `/* oxlint-disable */
// Written by "npm run generate" from packages/metadata/openapi.json.
`

/** Generates TypeScript types from the API description. */
export async function generateOpenapiTypes(): Promise<string> {
  const description = await readFile(new URL('../metadata/openapi.json', import.meta.url), 'utf8')
  return HEADER + astToString(await openapiTypescript(description))
}
