import { fileURLToPath } from 'node:url'
import { shutdownSignal } from '@plainpath/http'
import { startStack } from './start-stack.ts'

const say = (line: string) => console.log(line)
const stopped = shutdownSignal()
const port = Number(process.env['PORT'] ?? '8080')
const folder = process.env['DATA_DIR'] ?? fileURLToPath(new URL('../../../.data/stack', import.meta.url))

try {
  say('Starting the whole topology as plain processes')
  await using stack = await startStack({ port, folder, say })
  say(`\nReady: ${stack.origin}. Ctrl-C stops everything; the data stays in ${folder}.`)
  await stopped
  say('Stopping')
} catch (error) {
  if (!(error instanceof Error)) throw error
  console.error(
    error.name === 'MissingPrograms' || error.name === 'EmbeddedPostgresError' ? error.message : error.stack,
  )
  process.exitCode = 1
}
