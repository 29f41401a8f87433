import { fileURLToPath } from 'node:url'
import { createComposeSecrets } from './compose-secrets.ts'

const folder = fileURLToPath(new URL('../../../.data/compose', import.meta.url))
const createdFiles = await createComposeSecrets(
  folder,
  `http://localhost:${process.env['PLAINPATH_PORT'] || '8080'}`,
)
console.log(
  createdFiles.length > 0
    ? `Created in ${folder}: ${createdFiles.join(', ')}`
    : `All files already exist in ${folder}`,
)
