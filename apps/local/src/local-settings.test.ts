import { expect, test } from 'vitest'
import { readLocalSettings } from './local-settings.ts'

const read = (env: Record<string, string>) => readLocalSettings(env, '/project')

test('the public MCP server is at the next port, unless another one is named', () => {
  const at = (port: number) => ({ port, origin: `http://localhost:${port}` })
  expect(read({}).publicMcp).toEqual(at(8081))
  expect(read({ PORT: '8090' }).publicMcp).toEqual(at(8091))
  expect(read({ PORT: '8090', MCP_PORT: '9000' }).publicMcp).toEqual(at(9000))
  expect(read({ ORIGIN: 'http://127.0.0.1:8080' }).publicMcp).toEqual(at(8081))
})

test('an origin that other machines reach has none', () => {
  expect(read({ ORIGIN: 'https://plainpath.example' }).publicMcp).toBeUndefined()
})

test.for(['0', '65536', 'x', '-1', '1.5'])('MCP_PORT=%s is refused by name', (port) => {
  expect(() => read({ MCP_PORT: port })).toThrow(/^MCP_PORT /)
})
