import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { startStack } from '@plainpath/stack/start-stack'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CrawledService, describeCrawl } from '../crawl/crawl.contract.ts'

const resources = new AsyncDisposableStack()
let stack: { readonly origin: string }
beforeAll(async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-crawl-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  stack = resources.use(await startStack({ folder }))
})
afterAll(() => resources.disposeAsync())

const running = async (): Promise<CrawledService> => ({
  origin: stack.origin,
  [Symbol.asyncDispose]: async () => {},
})

describeCrawl('behind the gateway, with two processes of each app', running)

test('the lines of auth.md work when they are run in one shell', async () => {
  const markdown = await (await fetch(`${stack.origin}/auth.md`)).text()
  const blocks = [...markdown.matchAll(/^```sh\n([\s\S]*?)\n```$/gm)].map(([, block]) => block)
  expect(blocks.length).toBeGreaterThanOrEqual(5)
  const script = `set -eu\n${blocks.join('\n')}\necho ended with $?`
  const { stdout } = await promisify(execFile)('sh', ['-c', script], { timeout: 30_000 })
  expect(stdout).toMatch(/"client_id":"agt_/)
  expect(stdout).toMatch(/"guides":\[/)
  expect(stdout).toMatch(/ended with 0\n$/)
})
