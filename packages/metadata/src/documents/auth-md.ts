import { SCOPE_MEANINGS, Scope } from '@plainpath/domain'
import { API_TITLE } from '../api-version.ts'
import { authorizationServerMetadata, GRANT_TYPES } from '../authorization-server.ts'
import { protectedResourceMetadata } from '../protected-resource.ts'
import { serviceUrls } from '../service-urls.ts'
import { agentCommands } from './agent-commands.ts'
import { authMdClaim } from './auth-md-claim.ts'
import { authMdErrors } from './auth-md-errors.ts'
import { authMdKeys } from './auth-md-keys.ts'
import type { DocumentConfig } from './document-config.ts'
import { MARKDOWN_TYPE, type ServedDocument } from './served-document.ts'

/** `/auth.md`: an agent that reads it from top to bottom gets a token and reads a guide. */
export function authMd(config: DocumentConfig): ServedDocument {
  const parts = [
    ...[preamble, discovery, method, registration, token, use, authMdClaim],
    ...[upkeep, authMdKeys, authMdErrors, closing],
  ]
  return {
    path: '/auth.md',
    contentType: MARKDOWN_TYPE,
    content: `${parts
      .map((part) => part(config).trim())
      .filter(Boolean)
      .join('\n\n')}\n`,
  }
}

const pretty = (value: unknown) => JSON.stringify(value, null, 2)

function preamble({ origin }: DocumentConfig): string {
  const urls = serviceUrls(origin)
  return `
# auth.md: ${API_TITLE}

You are an agent. This file tells you how to register yourself, get a token and use this API. Every address in it is real; nothing has to be replaced but the values that you are given on the way. The blocks marked \`sh\` work when they are run in one shell, in this order.

- API and OAuth resource: ${urls.base}
- Authorization server (issuer): ${urls.origin}
- Guides and the waitlist also work without a registration. With a token you have limits of your own instead of those of your network address.

What you get here is information, not legal advice.`
}

function discovery({ origin }: DocumentConfig): string {
  const urls = serviceUrls(origin)
  const { agent_auth } = authorizationServerMetadata({ origin })
  return `
## 1. Discover

\`\`\`http
GET ${urls.protectedResource}
\`\`\`

\`\`\`json
${pretty(protectedResourceMetadata({ origin }))}
\`\`\`

\`\`\`http
GET ${urls.authorizationServer}
\`\`\`

Its member \`agent_auth\`:

\`\`\`json
${pretty({ agent_auth })}
\`\`\`

The names are those of auth.md 0.1 (\`register_uri\`). \`identity_endpoint\` of later versions is not offered: registration gives you a \`client_id\` and a \`client_secret\`, and the OAuth 2.0 client credentials grant gives you tokens.`
}

const method = () => `
## 2. Pick a method

- \`anonymous\`: no person, no e-mail address and no prior credential is needed. Every agent begins so.
- \`verified_email\`: later, a person confirms by mail that you act for them. Section 6 says how.`

function registration({ origin }: DocumentConfig): string {
  const urls = serviceUrls(origin)
  return `
## 3. Register

Register once for each person you serve, and keep the credential. Do not register for each task.

\`\`\`http
POST ${urls.register}
Content-Type: application/json

{"client_name": "Example Agent"}
\`\`\`

The body may be left out. \`client_name\` has up to 200 characters and is shown to people as unverified. The answer is 201:

\`\`\`json
${pretty({
  client_id: 'agt_…',
  client_secret: 'pps_…',
  client_name: 'Example Agent',
  identity_type: 'anonymous',
  grant_types: GRANT_TYPES,
  scopes: ['guides:read', 'waitlist:write'],
  token_endpoint: urls.token,
  token_endpoint_auth_method: 'client_secret_basic',
  client_secret_expires_at: 0,
  resource: urls.base,
  idle_expiry: '2026-11-27T14:00:00.000Z',
})}
\`\`\`

\`idle_expiry\` says when the registration ends unless you get a token before. The secret is shown once. Keep it out of logs, prompts and answers. If the answer is lost, register again.

${shell(origin, 0)}

If you can keep a private key, you need no secret: section 8.`
}

function token({ origin }: DocumentConfig): string {
  const urls = serviceUrls(origin)
  return `
## 4. Get a token

\`\`\`http
POST ${urls.token}
Authorization: Basic base64(client_id:client_secret)
Content-Type: application/x-www-form-urlencoded

grant_type=client_credentials
\`\`\`

\`client_id\` and \`client_secret\` may be form fields instead of the header. Without \`scope\` the token has all your scopes; what you may not have is left out, and \`scope\` in the answer says what you got. \`resource\` may be left out; if sent it is exactly ${urls.base}. The token is opaque and lasts 3600 seconds; get the next one the same way. \`client_expires_at\` in the answer is not about the token: it says when your registration ends unless you get another token before.

${shell(origin, 1)}`
}

function use({ origin }: DocumentConfig): string {
  const urls = serviceUrls(origin)
  return `
## 5. Use it

Send the token as \`Authorization: Bearer\`, never in an address.

${shell(origin, 2)}

All operations: ${urls.openapi}

A 401 with \`WWW-Authenticate: Bearer\` means that the token has ended: get a new one. A 401 from the token endpoint means a wrong secret or a registration that has ended: register again.`
}

function upkeep({ origin }: DocumentConfig): string {
  const urls = serviceUrls(origin)
  return `
## 7. End it

A registration is active from its answer on, until you end it or the operator does, or until it expires. Then its tokens have ended too.

It expires when you do not use it: 7 days after you registered if you never got a token, else 90 days after the last one. In a flood of registrations those that never got a token may end sooner, an hour after they were made. \`idle_expiry\` and \`client_expires_at\` tell you when. Who then shows the right secret gets \`invalid_client\` with an \`error_uri\` that ends in \`client-expired\`: register again.

- See what is known of it: \`GET ${urls.agent}\` with HTTP Basic.
- End one token: \`POST ${urls.revoke}\` with HTTP Basic and the form field \`token\`. Once that is answered 200, the token is dead.

${shell(origin, 3)}

- Change the secret: \`POST ${urls.agent}/secrets\` with HTTP Basic and no body. The answer, 201, has a second \`client_secret\`, shown once, and its \`secret_id\`. The old one works for 7 more days, or until \`DELETE ${urls.agent}/secrets/{id}\`, which also ends all your tokens. \`GET ${urls.agent}\` lists your secrets by \`secret_id\`; you have at most two, and the last one cannot be ended. If the answer is lost, end the secret that you do not know and ask again.
- End the registration and all its tokens: \`DELETE ${urls.agent}\` with HTTP Basic. Your name is erased. The answer is 204.

\`\`\`sh
curl -sS -X DELETE -u "$id:$secret" ${urls.agent}
\`\`\``
}

function shell(origin: string, index: number): string {
  const { line } = agentCommands(serviceUrls(origin))[index] ?? { line: '' }
  return `\`\`\`sh\n${line}\n\`\`\``
}

function closing({ origin }: DocumentConfig): string {
  const urls = serviceUrls(origin)
  const scopes = Scope.options.map((scope) => `| \`${scope}\` | ${SCOPE_MEANINGS[scope]} |`)
  return `
## Scopes

| scope | grants |
|---|---|
${scopes.join('\n')}

## Limits

Every answer that was counted announces its limits in \`RateLimit-Policy\` and \`RateLimit\`. Over a limit you get 429 and \`Retry-After\` in seconds: wait for that long. \`GET ${urls.agent}\` lists the limits of your client.

## Rules

- Ask the person before you send their e-mail address anywhere, here too.
- Tell the person that this is information, not legal advice, and name the sources of the guide.
- When a guide says that a case needs an attorney, say so instead of guessing: ${urls.skill('hand-off-to-an-attorney')}

## More

- How to answer from the guides: ${urls.skill('use-immigration-guidance-api')}
- Catalog of the APIs: ${urls.apiCatalog}
- Overview: ${urls.llms}
- MCP server: ${urls.mcp}
- Terms: ${urls.terms}
- Privacy: ${urls.privacy}`
}
