import {
  AgentDescription,
  AlreadyOnWaitlist,
  BeginClaimRequest,
  BegunClaim,
  CompleteClaimRequest,
  CompletedClaim,
  Guide,
  GuideHistoryLine,
  GuideList,
  GuideListing,
  GuideSource,
  Health,
  JoinedWaitlist,
  JoinWaitlistRequest,
  RegisterAgentRequest,
  RegisteredAgent,
  RegisteredKeyAgent,
  SCOPE_MEANINGS,
  Scope,
} from '@plainpath/domain'
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi'
import { RevokeRequest, TokenRequest, TokenResponse } from '../operations/oauth.ts'
import { TAGS } from '../operations/operation.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { API_TITLE, API_VERSION, type ServiceUrls } from '../service-urls.ts'
import { describeOperation } from './describe-operation.ts'
import { ERROR_SCHEMAS, errorResponses, HEADERS } from './errors.ts'

/** The names by which a generated client knows the schemas. */
const SCHEMAS = {
  Guide,
  GuideHistoryLine,
  GuideList,
  GuideListing,
  GuideSource,
  JoinWaitlistRequest,
  JoinedWaitlist,
  AlreadyOnWaitlist,
  RegisterAgentRequest,
  RegisteredAgent,
  RegisteredKeyAgent,
  AgentDescription,
  TokenRequest,
  TokenResponse,
  RevokeRequest,
  Health,
  ...ERROR_SCHEMAS,
  BeginClaimRequest,
  BegunClaim,
  CompleteClaimRequest,
  CompletedClaim,
}

/** The API description (OpenAPI 3.1.0) of every public operation of both apps. */
export function openApiDescription(urls: ServiceUrls) {
  return createDocument(
    {
      openapi: '3.1.0',
      info: infoOf(urls),
      servers: [{ url: urls.base, description: 'The API root' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      // Of an operation that does not say otherwise; every public one does.
      security: [{ oauth2: [] }],
      externalDocs: { url: urls.authMd, description: 'How an agent registers and gets a token' },
      paths: pathsOf(urls),
      components: {
        schemas: SCHEMAS,
        responses: errorResponses(urls),
        headers: HEADERS,
        securitySchemes: securitySchemes(urls),
      },
    },
    {
      override: ({ jsonSchema, io }) => {
        // A later version may add members to an answer, so clients must not refuse what they do not know.
        if (io === 'output') delete jsonSchema.additionalProperties
        // What these say is said by the type and the format.
        if (jsonSchema.format === 'date') delete jsonSchema.pattern
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      },
    },
  )
}

const infoOf = (urls: ServiceUrls) => ({
  title: API_TITLE,
  version: API_VERSION,
  summary: 'Plain-English immigration guidance for people and their agents.',
  description:
    'Guides to U.S. immigration, each backed by official sources, and a waitlist. Information, not legal advice: ' +
    'when a case is hard, the guides hand over to a licensed attorney.\n\n' +
    'Guides and the waitlist need no token. An agent registers itself and gets tokens with client credentials: ' +
    `${urls.authMd} leads through it.\n\n` +
    'Failures are `application/problem+json` (RFC 9457); `type` is a page that says what to do next. Under ' +
    '`/oauth` they are those of RFC 6749. Limits are announced in `RateLimit-Policy` and `RateLimit`. Within 0.x ' +
    'the API only adds: ignore members that you do not know.',
  contact: { name: 'Plainpath', url: urls.origin },
  license: { name: 'Proprietary', url: urls.terms },
  termsOfService: urls.terms,
})

/** Paths are relative to the API root; what lies outside of it names its own server. */
function pathsOf(urls: ServiceUrls): ZodOpenApiPathsObject {
  const root = new URL(urls.base).pathname
  const paths: ZodOpenApiPathsObject = {}
  for (const operation of OPERATIONS) {
    const below = operation.path.startsWith(`${root}/`)
    const path = below ? operation.path.slice(root.length) : operation.path
    const item = (paths[path] ??= below
      ? {}
      : { servers: [{ url: urls.origin, description: 'The authorization server' }] })
    item[operation.method] = describeOperation(operation, urls)
  }
  return paths
}

const securitySchemes = (urls: ServiceUrls) => ({
  client: {
    type: 'http' as const,
    scheme: 'basic',
    description: `\`client_id\` and \`client_secret\` of a registered agent. How to register: ${urls.authMd}`,
  },
  clientAssertion: {
    type: 'apiKey' as const,
    in: 'header' as const,
    name: 'Client-Assertion',
    description: `A client assertion (RFC 7523) of an agent that registered keys: ${urls.authMd}`,
  },
  oauth2: {
    type: 'oauth2' as const,
    description: `A bearer token. How to get one: ${urls.authMd}`,
    flows: {
      clientCredentials: {
        tokenUrl: urls.token,
        scopes: Object.fromEntries(Scope.options.map((scope) => [scope, SCOPE_MEANINGS[scope]])),
      },
    },
  },
})
