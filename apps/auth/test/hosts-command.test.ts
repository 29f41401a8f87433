import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { runAuth } from './run-auth.ts'

let testbed: AuthTestbed
let env: Record<string, string>
let folder: string
beforeAll(async () => {
  testbed = await openAuthTestbed()
  env = await testbed.createSettings('https://plainpath.example')
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-hosts-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await testbed[Symbol.asyncDispose]()
})

const run = (args: string, moreSettings: Record<string, string> = {}) =>
  runAuth(args.split(' '), { ...env, ...moreSettings })

describe('hosts list', () => {
  test('lists chat apps with their redirect URIs, as text and as JSON', async () => {
    const { code, printed } = await run('hosts list')
    expect(code).toBe(0)
    expect(printed).toContain('claude  Claude\n  redirect URI https://claude.ai/api/mcp/auth_callback')
    expect(printed).toContain(
      'redirect URI https://chatgpt.com/connector/oauth/ followed by one path segment',
    )
    expect(printed).toMatch(/^claude-code {2}Claude Code\n {2}redirect URI on loopback only$/m)
    expect(JSON.parse((await run('hosts list --json')).printed)).toMatchObject({
      ok: true,
      hosts: expect.arrayContaining([
        {
          label: 'vscode',
          name: 'VS Code',
          redirect_uris: ['https://vscode.dev/redirect', 'https://insiders.vscode.dev/redirect'],
          redirect_uri_prefixes: [],
          source: expect.any(String),
          checked: expect.stringMatching(/^\d{4}-/),
          documents: [{ client_id: 'https://vscode.dev/oauth/client-metadata.json', copied: '2026-09-08' }],
        },
      ]),
    })
  })

  test('lists the chat apps of AUTH_CHAT_HOSTS_FILE, and reports a mistake in it with exit code 2', async () => {
    const file = path.join(folder, 'hosts.json')
    await writeFile(file, '{"hosts":[]}')
    const { printed } = await run('hosts list --json', { AUTH_CHAT_HOSTS_FILE: file })
    expect(JSON.parse(printed)).toEqual({ ok: true, hosts: [] })
    await writeFile(file, '{"hosts":[{"label":"Canary"}]}')
    const { code, errors } = await run('hosts list', { AUTH_CHAT_HOSTS_FILE: file })
    expect(code).toBe(2)
    expect(errors).toMatch(/AUTH_CHAT_HOSTS_FILE is not a list of chat hosts: \/hosts\/0/)
    expect(errors).not.toContain('Canary')
  })
})
