import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import {
  createCertificateAuthority,
  createJsonHandler,
  type DocumentHost,
  startDocumentHost,
} from '@plainpath/auth/document-host'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { extractFencedBlocks } from '../fenced-blocks.ts'
import { type System, startSystem } from './start-system.ts'

const DOMAIN = 'agent.example.org'
const DOCUMENTED_ID = 'https://agent.example.org/plainpath-client.json'
const KEY_FILE = 'plainpath-key.pem'

const resources = new AsyncDisposableStack()
let system: System
let documentHost: DocumentHost
beforeAll(async () => {
  const authority = await createCertificateAuthority()
  documentHost = resources.use(await startDocumentHost(await authority.issue([DOMAIN])))
  const settings = { AUTH_CLIENT_DOCUMENT_TEST_HOSTS: `${DOMAIN}:${documentHost.port}` }
  system = resources.use(
    await startSystem({ documents: { settings, documentOverrides: { ca: authority.pem } } }),
  )
})
afterAll(() => resources.disposeAsync())

async function readCommands(document: string): Promise<string[]> {
  const markdown = await (await fetch(`${system.origin}${document}`)).text()
  return extractFencedBlocks(markdown, 'sh')
}

/** Creates a folder, in which each call of `run` runs commands in a new shell. The shell exits at the first failing command. */
async function createShellFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-commands-'))
  return {
    toPath: (name: string) => path.join(folder, name),
    async run(...commands: string[]) {
      const script = `set -eu\n${commands.join('\n')}`
      const env = { PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}` }
      const { stdout, stderr } = await promisify(execFile)('sh', ['-c', script], {
        cwd: folder,
        env,
        timeout: 30_000,
      })
      // The commands must print no token, secret or private key.
      expect(stdout + stderr).not.toMatch(/ppt_|pps_|PRIVATE/)
      return stdout
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

async function expectPrivate(file: string): Promise<void> {
  expect((await stat(file)).mode & 0o777).toBe(0o600)
}

test('an agent with a domain reads a guide with the commands of /auth/domain.md', async () => {
  await using shell = await createShellFolder()
  const id = documentHost.getUrl(DOMAIN, '/plainpath-client.json')
  const blocks = (await readCommands('/auth/domain.md')).map((block) => block.replaceAll(DOCUMENTED_ID, id))
  const [storeProgram = '', writeDocument = '', readGuide = '', ...others] = blocks
  expect(others).toEqual([])
  await shell.run(storeProgram, writeDocument)
  await expectPrivate(shell.toPath(KEY_FILE))
  const document = await readFile(shell.toPath('plainpath-client.json'), 'utf8')
  documentHost.serve('/plainpath-client.json', createJsonHandler(JSON.parse(document)))
  expect(await shell.run(`id=${id}`, readGuide)).toContain('"talkToAnAttorneyWhen":')
})

test('an agent reads a guide with a bound token, with the commands of /auth.md and then /auth/dpop.md', async () => {
  await using shell = await createShellFolder()
  const [register = ''] = await readCommands('/auth.md')
  const [storeProgram = '', readGuide = '', ...others] = await readCommands('/auth/dpop.md')
  expect(others).toEqual([])
  const readGuideAsBearer = `curl -sS -o /dev/null -w 'as bearer: %{http_code}' -H "Authorization: Bearer $token" $guide`
  const output = await shell.run(register, storeProgram, readGuide, readGuideAsBearer)
  expect(output).toContain('"talkToAnAttorneyWhen":')
  expect(output).toMatch(/as bearer: 401$/)
  await expectPrivate(shell.toPath(KEY_FILE))
})
