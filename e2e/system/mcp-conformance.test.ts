import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { startMcpFixtureServer } from '@plainpath/resource/mcp-fixture-server'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { startSystem } from '../in-process/start-system.ts'

/** Scenarios of the official conformance runner that any server must pass. */
const WITHOUT_FIXTURES = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

/**
 * Scenarios that call tools of their own. The others of the runner are about what this server does not offer: resources, prompts, completion,
 * logging, and requests to the client, which need a stream that stays open.
 */
const WITH_FIXTURES = [
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'json-schema-2020-12',
]

const RUNNER = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js')

/** @throws with the report of the runner when a check fails */
async function runScenario(url: string, scenario: string): Promise<void> {
  const args = [RUNNER, 'server', '--url', url, '--scenario', scenario]
  await promisify(execFile)(process.execPath, args, { timeout: 60_000 }).catch((error) => {
    throw new Error(String(error.stdout) + String(error.stderr), { cause: error })
  })
}

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())

describe('the conformance runner of MCP accepts the server', () => {
  let url: string
  beforeAll(async () => {
    url = `${resources.use(await startSystem()).origin}/api/mcp`
  })
  test.for(WITHOUT_FIXTURES)('%s', (scenario) => runScenario(url, scenario))
})

describe('the conformance runner of MCP accepts the same route with tools for tests', () => {
  let url: string
  beforeAll(async () => {
    ;({ url } = resources.use(await startMcpFixtureServer()))
  })
  test.for(WITH_FIXTURES)('%s', (scenario) => runScenario(url, scenario))
})
