import { fileURLToPath } from 'node:url'
import { createComposeSecrets } from './compose-secrets.ts'

const folder = fileURLToPath(new URL('../../../.data/compose', import.meta.url))
const origin = `http://localhost:${process.env['PLAINPATH_PORT'] || '8080'}`
const createdFiles = await createComposeSecrets(folder, origin)
console.log(
  createdFiles.length > 0
    ? `Created in ${folder}: ${createdFiles.join(', ')}`
    : `All files already exist in ${folder}`,
)
