import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createDocumentsByPath, getContentAt, getJsonAt, ORIGIN } from '../../test/document-config.ts'
import { SERVER_CARD } from '../../test/server-card-schema.ts'
import { createServiceUrls } from '../service-urls.ts'
import { createMcpMd } from './mcp-md.ts'
import { createMcpEndpoints, createMcpServerInfo } from './mcp-server.ts'
import { MCP_TOOLS, type McpTool, PUBLIC_TOOLS } from './mcp-tools.ts'

const CARD_PATHS = ['/api/mcp/server-card', '/.well-known/mcp/server-card.json', '/.well-known/mcp.json']

test.for([ORIGIN, 'http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080'])(
  'the server card schema accepts the card of %s',
  (origin) => {
    const ajv = new Ajv2020({ strict: true, allErrors: true })
    addFormats.default(ajv)
    const validate = ajv.compile(SERVER_CARD)
    validate(getJsonAt('/api/mcp/server-card', { origin }))
    expect(validate.errors).toBeNull()
  },
)

test('the server name is the reversed host, a slash and plainpath', () => {
  expect(createMcpServerInfo(createServiceUrls('https://api.plainpath.example')).name).toBe(
    'example.plainpath.api/plainpath',
  )
})

const urls = createServiceUrls(ORIGIN, 'https://mcp.plainpath.example')
const endpoints = createMcpEndpoints(urls)

test('the instructions say how an agent, or an app with a signed-in person, sends a message', () => {
  const agentWords = ['send_contact_message', 'verifies', 'agrees', urls.authVerifiedEmail, urls.mcpMd]
  for (const words of agentWords) expect(endpoints.agents.instructions).toContain(words)
  const signedInWords = ['send_contact_message', 'signed in', 'if they agree', 'withdraw_contact_message']
  for (const words of signedInWords) expect(endpoints.signedIn.instructions).toContain(words)
})

test('the public address has only tools that read and need no token, and names the signed-in address', () => {
  expect(endpoints.public).toMatchObject({
    address: 'https://mcp.plainpath.example/mcp',
    capabilities: { tools: { listChanged: false } },
    tools: PUBLIC_TOOLS,
  })
  const text = endpoints.public?.instructions
  for (const words of [`${ORIGIN}/mcp`, 'signs in', 'get_help']) expect(text).toContain(words)
  for (const name of Object.keys(MCP_TOOLS))
    if (!PUBLIC_TOOLS.some((publicTool) => publicTool === name)) expect(text).not.toContain(name)
  for (const name of PUBLIC_TOOLS) {
    expect(MCP_TOOLS[name].annotations.readOnlyHint).toBe(true)
    expect(MCP_TOOLS[name].description).not.toContain('token')
  }
  expect(createMcpEndpoints(createServiceUrls(ORIGIN)).public).toBeUndefined()
})

test('/mcp.md lists every tool, and the card, the API catalog and the resource metadata link to it', () => {
  const text = getContentAt('/mcp.md')
  for (const name of Object.keys(MCP_TOOLS)) expect(text).toContain(`| \`${name}\` |`)
  for (const path of ['/api/mcp/server-card', '/.well-known/api-catalog'])
    expect(getContentAt(path)).toContain(urls.mcpMd)
  expect(getJsonAt('/.well-known/oauth-protected-resource/api/mcp').resource_documentation).toBe(urls.mcpMd)
})

test.for(['/mcp.md', '/llms.txt'])(
  '%s names the connect page and the signed-in address, both for people in chat apps',
  (path) => {
    const { connect, signedInMcp } = createServiceUrls(ORIGIN)
    for (const address of [connect, `${signedInMcp} (with sign-in)`])
      expect(getContentAt(path)).toContain(address)
  },
)

test('/mcp.md names an address without sign-in only if one is configured', () => {
  expect(createMcpMd(urls).content).toContain('https://mcp.plainpath.example/mcp (without sign-in)')
  expect(getContentAt('/mcp.md')).not.toContain('without sign-in')
})

describe('checkers', () => {
  const card = getJsonAt('/.well-known/mcp/server-card.json')

  test('isitagentready.com mcpServerCard: has serverInfo, the transport’s endpoint, and capabilities', () => {
    const { name, version } = createMcpServerInfo(createServiceUrls(ORIGIN))
    expect(card).toMatchObject({
      serverInfo: { name, version },
      transport: { endpoint: `${ORIGIN}/api/mcp` },
      capabilities: { tools: {} },
    })
  })

  test('ora.ai mcp-server-card: has name, description, version, serverUrl and tools at the top level', () => {
    for (const member of ['name', 'description', 'version', 'serverUrl'])
      expect(card).toHaveProperty(member, expect.stringMatching(/./))
    expect(card.tools.map(({ name }: { name: string }) => name)).toEqual(Object.keys(MCP_TOOLS))
    for (const tool of card.tools) expect(tool.description).toMatch(/./)
  })

  test('the card says that the agents’ MCP server needs no token', () => {
    expect(card.authentication).toMatchObject({ required: false })
    expect(card.remotes[0].headers[0]).toMatchObject({
      name: 'Authorization',
      isRequired: false,
      isSecret: true,
    })
  })
})

test('the same card is served at three paths, with its media type and CORS headers', () => {
  const documents = createDocumentsByPath()
  const cards = CARD_PATHS.map((path) => documents.get(path))
  for (const card of cards) {
    expect(card).toEqual({ ...cards[0], path: card?.path })
    expect(card).toMatchObject({
      contentType: 'application/mcp-server-card+json',
      headers: {
        'access-control-allow-methods': 'GET',
        'access-control-allow-headers': 'Content-Type, If-None-Match',
      },
    })
  }
})

describe.for(Object.entries<McpTool>(MCP_TOOLS))('%s', ([name, tool]) => {
  test('has a snake_case name, a short description and object schemas, and its input rejects unknown members', () => {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/)
    expect(tool.description.length).toBeLessThan(250)
    const [input, output] = [
      z.toJSONSchema(tool.inputSchema, { io: 'input' }),
      z.toJSONSchema(tool.outputSchema),
    ]
    for (const schema of [input, output]) expect(schema.type).toBe('object')
    expect(input.additionalProperties).toBe(false)
  })

  test('accepts null for each optional argument', () => {
    const { required = [], properties = {} } = z.toJSONSchema(tool.inputSchema, { io: 'input' })
    const optional = Object.keys(properties).filter((member) => !required.includes(member))
    for (const member of optional)
      expect(tool.inputSchema.shape[member]?.['~standard'].validate(null)).toHaveProperty('value')
  })
})
