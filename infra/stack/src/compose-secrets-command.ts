import { fileURLToPath } from 'node:url'
import { makeComposeSecrets } from './compose-secrets.ts'

const folder = fileURLToPath(new URL('../../../.data/compose', import.meta.url))
const made = await makeComposeSecrets(folder, 'http://localhost:8080')
console.log(
  made.length > 0 ? `Created in ${folder}: ${made.join(', ')}` : `All files already exist in ${folder}`,
)
