import { describe, expect, test } from 'vitest'
import {
  createAuthorizationServerMetadata,
  createMcpResourceMetadata,
  createProtectedResourceMetadata,
  createSignedInMcpResourceMetadata,
  getAudienceForPath,
  getResourceMetadataUrl,
} from './oauth-metadata.ts'
import { findAppForPath } from './paths.ts'
import { createServiceUrls } from './service-urls.ts'

const ORIGIN = 'https://plainpath.example'
const server = createAuthorizationServerMetadata(createServiceUrls(ORIGIN))
const resource = createProtectedResourceMetadata(createServiceUrls(ORIGIN))
const mcp = createMcpResourceMetadata(createServiceUrls(ORIGIN))
const signedInMcp = createSignedInMcpResourceMetadata(createServiceUrls(ORIGIN))

/** Lists the addresses among the strings of a document. */
const listAddresses = (value: unknown): string[] => {
  if (typeof value === 'string') return /^https?:/.test(value) ? [value] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listAddresses) : []
}

describe('the authorization server metadata', () => {
  test('has exactly these members, from RFC 8414 and its extensions, and auth.md', () => {
    expect(server).toEqual({
      issuer: ORIGIN,
      client_id_metadata_document_supported: true,
      op_policy_uri: `${ORIGIN}/privacy`,
      op_tos_uri: `${ORIGIN}/terms`,
      authorization_endpoint: `${ORIGIN}/oauth/authorize`,
      token_endpoint: `${ORIGIN}/oauth/token`,
      revocation_endpoint: `${ORIGIN}/oauth/revoke`,
      jwks_uri: `${ORIGIN}/oauth/jwks.json`,
      registration_endpoint: `${ORIGIN}/oauth/register`,
      scopes_supported: ['guides:read', 'waitlist:write', 'contact:write', 'offline_access'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: [
        'authorization_code',
        'refresh_token',
        'client_credentials',
        'urn:ietf:params:oauth:grant-type:jwt-bearer',
      ],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      token_endpoint_auth_methods_supported: [
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
        'none',
      ],
      token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'Ed25519'],
      dpop_signing_alg_values_supported: ['ES256', 'EdDSA', 'Ed25519'],
      revocation_endpoint_auth_methods_supported: [
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
        'none',
      ],
      revocation_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'Ed25519'],
      protected_resources: [`${ORIGIN}/api`, `${ORIGIN}/api/mcp`, `${ORIGIN}/mcp`],
      service_documentation: `${ORIGIN}/auth.md`,
      agent_auth: {
        skill: `${ORIGIN}/auth.md`,
        register_uri: `${ORIGIN}/api/agent/register`,
        claim_uri: `${ORIGIN}/api/agent/claim`,
        claim_complete_uri: `${ORIGIN}/api/agent/claim/complete`,
        identity_types_supported: ['anonymous', 'identity_assertion'],
        anonymous: {
          credential_types_supported: ['access_token'],
          claim_uri: `${ORIGIN}/api/agent/claim`,
        },
        identity_assertion: {
          assertion_types_supported: ['verified_email'],
          credential_types_supported: ['access_token'],
          claim_uri: `${ORIGIN}/api/agent/claim`,
        },
      },
    })
  })

  test('does not mention introspection, which only resource servers may use', () => {
    expect(JSON.stringify(server)).not.toContain('introspect')
  })
})

describe('the protected resource metadata', () => {
  test('has members of RFC 9728, and no others', () => {
    expect(resource).toEqual({
      resource: `${ORIGIN}/api`,
      authorization_servers: [ORIGIN],
      scopes_supported: ['guides:read', 'waitlist:write', 'contact:write'],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: ['ES256', 'EdDSA', 'Ed25519'],
      dpop_bound_access_tokens_required: false,
      resource_name: 'Plainpath Immigration Guidance API',
      resource_documentation: `${ORIGIN}/auth.md`,
      resource_policy_uri: `${ORIGIN}/privacy`,
      resource_tos_uri: `${ORIGIN}/terms`,
    })
  })
})

test('the authorization server and the three resources list each other’s exact identifiers', () => {
  for (const { authorization_servers } of [resource, mcp, signedInMcp])
    expect(authorization_servers).toEqual([server.issuer])
  expect(server.protected_resources).toEqual([resource.resource, mcp.resource, signedInMcp.resource])
})

test('the metadata of the MCP server differs from that of the API only in address, name and documentation', () => {
  expect(mcp).toEqual({
    ...resource,
    resource: `${ORIGIN}/api/mcp`,
    resource_name: 'Plainpath MCP server',
    resource_documentation: `${ORIGIN}/mcp.md`,
  })
})

test('the signed-in MCP server is another resource, with one scope', () => {
  expect(signedInMcp).toEqual({
    ...mcp,
    resource: `${ORIGIN}/mcp`,
    scopes_supported: ['contact:write'],
    resource_name: 'Plainpath MCP server, signed in',
  })
})

test.for(['https://plainpath.example', 'http://localhost:8080', 'http://[::1]:8080'])(
  'every address is the origin %s or below it, in normal form, without double or trailing slashes',
  (origin) => {
    const urls = createServiceUrls(origin)
    const builtAddresses = [urls.problem('not-found'), urls.guide('visa-basics'), urls.referral('abc')]
    const documents = [
      createAuthorizationServerMetadata(urls),
      createProtectedResourceMetadata(urls),
      createMcpResourceMetadata(urls),
      createSignedInMcpResourceMetadata(urls),
    ]
    for (const address of [...listAddresses(urls), ...builtAddresses, ...listAddresses(documents)]) {
      expect(address === origin || address.startsWith(`${origin}/`)).toBe(true)
      const parsed = new URL(address)
      if (address !== origin) expect(parsed.href).toBe(address)
      expect(parsed.pathname).not.toMatch(/\/\/|.\/$/)
    }
  },
)

test('findAppForPath assigns each service address to the app that serves it', () => {
  const urls = createServiceUrls(ORIGIN)
  const findAppForAddress = (address: string) => findAppForPath(new URL(address).pathname)
  for (const address of [
    urls.authorize,
    urls.registerApp,
    urls.token,
    urls.revoke,
    urls.jwks,
    urls.register,
    urls.agent,
    urls.authorizationServer,
  ]) {
    expect(findAppForAddress(address)).toBe('auth')
  }
  for (const address of [
    urls.base,
    urls.protectedResource,
    urls.mcpProtectedResource,
    urls.signedInMcp,
    urls.signedInMcpProtectedResource,
    urls.mcpMd,
    urls.problem('not-found'),
    urls.guide('x'),
    urls.referral('x'),
  ]) {
    expect(findAppForAddress(address)).toBe('resource')
  }
})

test('the metadata address of each resource is the one that RFC 9728 §3.1 derives from its identifier', () => {
  const urls = createServiceUrls(ORIGIN)
  const resources = [
    [urls.base, urls.protectedResource],
    [urls.mcp, urls.mcpProtectedResource],
    [urls.signedInMcp, urls.signedInMcpProtectedResource],
  ] as const
  for (const [identifier, metadataUrl] of resources) {
    const { origin, pathname } = new URL(identifier)
    expect(metadataUrl).toBe(`${origin}/.well-known/oauth-protected-resource${pathname}`)
    expect(getResourceMetadataUrl(urls, pathname)).toBe(metadataUrl)
  }
  // All other paths, even similar ones, have the metadata of the API.
  for (const path of ['/api/guides', '/api/mcp/server-card', '/api/mcpx', '/mcp/', '/mcpx'])
    expect(getResourceMetadataUrl(urls, path)).toBe(urls.protectedResource)
})

test('only the exact path /mcp has the signed-in MCP server as its token audience', () => {
  const urls = createServiceUrls(ORIGIN)
  expect(getAudienceForPath(urls, '/mcp')).toBe(`${ORIGIN}/mcp`)
  for (const path of ['/api/mcp', '/api/guides', '/mcp/', '/MCP', '/mcpx', '/', ''])
    expect(getAudienceForPath(urls, path)).toBe(urls.base)
})
