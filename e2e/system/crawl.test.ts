import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Collector, startCollector } from '@plainpath/tracing/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CrawledService, describeCrawl } from '../crawl/crawl.contract.ts'
import { extractFencedBlocks } from '../fenced-blocks.ts'
import { runStackCommand, type StackProcess } from './run-stack-command.ts'

const resources = new AsyncDisposableStack()
let stack: StackProcess
let collector: Collector
beforeAll(async () => {
  collector = resources.use(await startCollector())
  const { url } = collector
  stack = resources.use(await runStackCommand({ AUTH_OTLP_URL: url, RESOURCE_OTLP_URL: url }))
}, 300_000)
afterAll(() => resources.disposeAsync(), 60_000)

const getCrawledService = async (): Promise<CrawledService> => ({
  origin: stack.origin,
  [Symbol.asyncDispose]: async () => {},
})

describeCrawl('behind the gateway of `npm run stack`, with two processes of each app', getCrawledService)

test('the commands of auth.md work in one shell, print no secret, and keep a registration until the last command', async () => {
  await using folder = await createTemporaryFolder()
  const markdown = await (await fetch(`${stack.origin}/auth.md`)).text()
  const blocks = extractFencedBlocks(markdown, 'sh')
  const commandsBeforeDeletion = blocks.slice(0, -1)
  const deletion = blocks.at(-1) ?? ''
  expect(blocks).toHaveLength(5)
  expect(deletion).toContain('-X DELETE')
  const runInShell = async (...lines: string[]) => {
    const script = `set -eu\n${lines.join('\n')}\necho exit code $?`
    return promisify(execFile)('sh', ['-c', script], { cwd: folder.path, timeout: 30_000 })
  }
  const firstRun = await runInShell(...commandsBeforeDeletion)
  expect(firstRun.stdout).toMatch(/"slug":"[a-z-]+"/)
  expect(firstRun.stdout).toMatch(/"talkToAnAttorneyWhen":/)
  expect(firstRun.stdout).toMatch(/exit code 0\n$/)
  const file = path.join(folder.path, 'plainpath-agent.json')
  const registrationText = await readFile(file, 'utf8')
  const { client_secret } = JSON.parse(registrationText) as { client_secret: string }
  expect(firstRun.stdout + firstRun.stderr).not.toContain(client_secret)
  expect(firstRun.stdout).not.toMatch(/ppt_|pps_/)

  // The second run uses the stored registration, and then deletes it.
  const secondRun = await runInShell(
    ...commandsBeforeDeletion,
    `cp ${path.basename(file)} kept.json`,
    deletion,
  )
  expect(secondRun.stdout).toMatch(/exit code 0\n$/)
  expect(await readFile(path.join(folder.path, 'kept.json'), 'utf8')).toBe(registrationText)
  await expect(readFile(file)).rejects.toThrow('ENOENT')
})

async function createTemporaryFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-auth-md-'))
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

test('the configured collector receives the traces of both apps', async () => {
  const listServices = () => [...new Set(collector.listSpans().map(({ service }) => service))].toSorted()
  await expect.poll(listServices).toEqual(['plainpath-auth', 'plainpath-resource'])
})

test('after Ctrl-C, the command exits with code 0, and nothing serves its origin any more', async () => {
  expect(await stack.interrupt()).toBe(0)
  expect((await stack.readOutput()).at(-1)).toBe('Stopping')
  await expect(fetch(stack.origin)).rejects.toThrow('fetch failed')
})
