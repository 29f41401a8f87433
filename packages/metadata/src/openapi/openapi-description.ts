import { SCOPE_MEANINGS, Scope } from '@plainpath/domain'
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi'
import { TAGS } from '../operations/operation.ts'
import { OPERATION_LIST } from '../operations/operations.ts'
import { API_TITLE, API_VERSION, type ServiceUrls } from '../service-urls.ts'
import { describeOperation } from './describe-operation.ts'
import { createErrorResponses, HEADERS } from './errors.ts'
import { NAMED_SCHEMAS, simplifySchema } from './named-schemas.ts'

/** Creates the OpenAPI 3.1.0 description of all public operations of both apps. */
export function createOpenApiDescription(urls: ServiceUrls) {
  return createDocument(
    {
      openapi: '3.1.0',
      info: describeInfo(urls),
      servers: [{ url: urls.base, description: 'The API root' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      externalDocs: { url: urls.authMd, description: 'How an agent registers and gets a token' },
      paths: describePaths(urls),
      components: {
        schemas: NAMED_SCHEMAS,
        responses: createErrorResponses(urls),
        headers: HEADERS,
        securitySchemes: describeSecuritySchemes(urls),
      },
    },
    { override: simplifySchema },
  )
}

const describeInfo = (urls: ServiceUrls) => ({
  title: API_TITLE,
  version: API_VERSION,
  summary: 'Plain-English immigration guidance for people and their agents.',
  description:
    'Guides to U.S. immigration, each backed by official sources, and answers from them. Information, not legal advice: for hard ' +
    'cases we say where to find an attorney. An agent can send our staff a message on behalf of a person who has confirmed ' +
    'the agent by e-mail (`beginClaim`, `sendContactMessage`).\n\n' +
    `To get only part of this document, request \`${urls.openapi}?operation=getGuide\` or \`?tag=Guides\`; separate several ` +
    'names with commas.\n\n' +
    'Operations with an empty `security` need no token. Where a token is optional, one that is sent must be valid, and the ' +
    `limits are those of its client. How an agent registers itself and gets tokens: ${urls.authMd}.\n\n` +
    'Failures are `application/problem+json` (RFC 9457); those of `/oauth` have the form of RFC 6749. Every response has ' +
    '`X-Request-Id`: that of the request, or a generated one. Most have `RateLimit-Policy`, the limits that counted the ' +
    'request, and `RateLimit`, what is left of them (draft-ietf-httpapi-ratelimit-headers). Within 0.x, we add to the API ' +
    'but remove nothing without notice, so ignore members that you do not know.',
  contact: { name: 'Plainpath', url: urls.origin },
  license: { name: 'Proprietary', url: urls.terms },
  termsOfService: urls.terms,
})

/** Describes the operations by path. Paths are relative to the API root; a path outside the root has its own server. */
function describePaths(urls: ServiceUrls): ZodOpenApiPathsObject {
  const root = new URL(urls.base).pathname
  const paths: ZodOpenApiPathsObject = {}
  for (const operation of OPERATION_LIST) {
    const isBelowRoot = operation.path.startsWith(`${root}/`)
    const path = isBelowRoot ? operation.path.slice(root.length) : operation.path
    const item = (paths[path] ??= isBelowRoot ? {} : { servers: [{ url: urls.origin }] })
    item[operation.method] = describeOperation(operation, urls)
  }
  return paths
}

const describeSecuritySchemes = (urls: ServiceUrls) => ({
  client: {
    type: 'http' as const,
    scheme: 'basic',
    description: `The \`client_id\` and \`client_secret\` of a registered agent: ${urls.authMd}`,
  },
  clientAssertion: {
    type: 'apiKey' as const,
    in: 'header' as const,
    name: 'Client-Assertion',
    description: 'A client assertion (RFC 7523) of an agent that registered keys, instead of HTTP Basic.',
  },
  dpop: {
    type: 'http' as const,
    scheme: 'dpop',
    description: 'A token that is bound to a key, with a proof in the header `DPoP` (RFC 9449).',
  },
  oauth2: {
    type: 'oauth2' as const,
    description: `A bearer token: ${urls.authMd}`,
    flows: {
      clientCredentials: {
        tokenUrl: urls.token,
        scopes: Object.fromEntries(Scope.options.map((scope) => [scope, SCOPE_MEANINGS[scope]])),
      },
    },
  },
})
