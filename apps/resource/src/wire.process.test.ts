import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test.for([
  ['./wire.ts', []],
  ['./mcp/register-tools.ts', ['@modelcontextprotocol/server']],
] as const)(
  'importing %s loads only these of the large optional libraries: %j',
  async ([module, expected]) => {
    // The hook records the name in every import, also in the imports of imported modules.
    const program = `
    import { registerHooks } from 'node:module'
    const loaded = new Set()
    registerHooks({ resolve(name, context, next) { loaded.add(name); return next(name, context) } })
    await import(${JSON.stringify(new URL(module, import.meta.url).href)})
    console.log(JSON.stringify([...loaded]))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
    const loaded = JSON.parse(stdout) as string[]
    const libraries = ['@modelcontextprotocol/server', 'node-pg-migrate', '@opentelemetry/sdk-trace']
    expect(loaded.filter((name) => libraries.includes(name))).toEqual(expected)
  },
)
