import { expect, test } from 'vitest'
import { readLocalSettings } from './local-settings.ts'

const read = (env: Record<string, string>) => readLocalSettings(env, '/project')

test('puts the public MCP server on the port after PORT, or on MCP_PORT', () => {
  const onPort = (port: number) => ({ port, origin: `http://localhost:${port}` })
  expect(read({}).publicMcp).toEqual(onPort(8081))
  expect(read({ PORT: '8090' }).publicMcp).toEqual(onPort(8091))
  expect(read({ PORT: '8090', MCP_PORT: '9000' }).publicMcp).toEqual(onPort(9000))
  expect(read({ ORIGIN: 'http://127.0.0.1:8080' }).publicMcp).toEqual(onPort(8081))
})

test('has no public MCP server for an https origin', () => {
  expect(read({ ORIGIN: 'https://plainpath.example' }).publicMcp).toBeUndefined()
})

test.for(['0', '65536', 'x', '-1', '1.5'])('rejects MCP_PORT=%s with a message that names it', (port) => {
  expect(() => read({ MCP_PORT: port })).toThrow(/^MCP_PORT /)
})
