import {
  ASSERTION_ALGORITHMS,
  durationIn,
  durationInWords,
  numberInWords,
  RULES,
  SCOPE_MEANINGS,
  Scope,
} from '@plainpath/domain'
import {
  authorizationServerMetadata,
  GRANT_TYPES,
  JWT_BEARER_GRANT,
  protectedResourceMetadata,
} from '../oauth-metadata.ts'
import { registrationExample } from '../operations/agents.ts'
import { exampleCode } from '../operations/claims.ts'
import { CLIENT_ASSERTION_TYPE } from '../operations/oauth.ts'
import { readTemplate } from '../read-template.ts'
import { API_TITLE, type ServiceUrls } from '../service-urls.ts'
import { MARKDOWN_TYPE, type ServedDocument } from './served-document.ts'

const fillIn = readTemplate(
  new URL('./auth.template.md', import.meta.url),
  [
    'urls',
    'protectedResource',
    'agentAuth',
    'registration',
    'registerCommand',
    'tokenCommand',
    'readCommand',
    'revokeCommand',
    'handOffSkill',
    'useApiSkill',
  ],
  {
    title: API_TITLE,
    scope: encodeURIComponent(Scope.options.join(' ')),
    scopes: Scope.options.map((scope) => `| \`${scope}\` | ${SCOPE_MEANINGS[scope]} |`).join('\n'),
    jwtBearerGrant: encodeURIComponent(JWT_BEARER_GRANT),
    clientAssertionType: CLIENT_ASSERTION_TYPE,
    algorithms: ASSERTION_ALGORITHMS.join(', '),
    nameCharacters: RULES.nameCharacters,
    tokenSeconds: RULES.tokenMs / 1000,
    neverUsed: durationIn('day', RULES.neverUsedMs),
    idle: durationIn('day', RULES.idleMs),
    flood: durationIn('hour', RULES.floodMs),
    oldSecretDays: durationIn('day', RULES.oldSecretMs).replace(/ days?$/, ''),
    agentKeys: RULES.agentKeys,
    agentCachedSeconds: RULES.agentCachedMs / 1000,
    clientAssertionLasts: durationIn('minute', RULES.clientAssertionMs),
    keyProofLasts: durationIn('minute', RULES.keyProofMs),
    jtiCharacters: RULES.jtiCharacters,
    codeDigits: numberInWords(RULES.claimCodeDigits),
    exampleCode: exampleCode(),
    codeLasts: durationIn('minute', RULES.claimCodeMs),
    codes: numberInWords(RULES.claimCodes),
    linkLasts: durationIn('hour', RULES.claimLinkMs),
    mailboxTriesLast: durationIn('day', RULES.mailboxTriesMs),
    tries: numberInWords(RULES.claimTries),
    claimMails: numberInWords(RULES.claimMails),
    resendPause: durationIn('minute', RULES.claimResendMs),
    mailsToMailbox: numberInWords(RULES.mailsToMailbox),
    assertionLasts: durationIn('hour', RULES.identityAssertionMs),
    claimLasts: durationIn('day', RULES.claimMs),
    messageCharacters: RULES.messageCharacters,
    idempotencyLasts: durationIn('hour', RULES.idempotencyMs),
    duplicateLasts: durationIn('hour', RULES.duplicateMessageMs),
    urgentHold: durationInWords('minute', RULES.urgentHoldMs),
    handOffTriggers: RULES.handOffTriggers,
  },
)

/** `/auth.md`: an agent that reads it from top to bottom gets a token and reads a guide. */
export function authMd(urls: ServiceUrls): ServedDocument {
  const { agent_auth } = authorizationServerMetadata(urls)
  const [register, token, read, revoke] = agentCommands(urls)
  const content = fillIn({
    urls,
    protectedResource: pretty(protectedResourceMetadata(urls)),
    agentAuth: pretty({ agent_auth }),
    registration: pretty(registrationAnswer(urls)),
    registerCommand: register.line,
    tokenCommand: token.line,
    readCommand: read.line,
    revokeCommand: revoke.line,
    handOffSkill: urls.skill('hand-off-to-an-attorney'),
    useApiSkill: urls.skill('use-immigration-guidance-api'),
  })
  return { path: '/auth.md', contentType: MARKDOWN_TYPE, content }
}

const pretty = (value: unknown) => JSON.stringify(value, null, 2)

/** What an agent needs of the answer, with values that say what is to be filled in. */
const registrationAnswer = (urls: ServiceUrls) => ({
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
  idle_expiry: registrationExample(urls).idle_expiry,
})

const member = (name: string) => `sed -n 's/.*"${name}":"\\([^"]*\\)".*/\\1/p'`

/**
 * The journey of an agent as lines for a POSIX shell that work when they are pasted in this order, with nothing but curl
 * and sed; a later line uses the variables of an earlier one.
 */
export const agentCommands = (urls: ServiceUrls) =>
  [
    {
      does: 'Register. Keep the answer: the secret is shown once.',
      line: `agent=$(curl -sS -X POST ${urls.register}); echo "$agent"
id=$(echo "$agent" | ${member('client_id')})
secret=$(echo "$agent" | ${member('client_secret')})`,
    },
    {
      does: `Get a token. It lasts ${durationIn('hour', RULES.tokenMs)}.`,
      line: `token=$(curl -sS -u "$id:$secret" -d grant_type=client_credentials ${urls.token} | ${member('access_token')})`,
    },
    {
      does: 'Read the guides. This also works without a token.',
      line: `curl -sS -H "Authorization: Bearer $token" ${urls.base}/guides`,
    },
    {
      does: 'Give the token back when you are done.',
      line: `curl -sS -u "$id:$secret" -d token="$token" ${urls.revoke}`,
    },
  ] as const
