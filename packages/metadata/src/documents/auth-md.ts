import { durationIn, RULES } from '@plainpath/domain'
import { registerAgent } from '../operations/agents.ts'
import { createToken } from '../operations/oauth.ts'
import { readTemplate } from '../read-template.ts'
import { API_TITLE, type ServiceUrls } from '../service-urls.ts'
import { formatJson, parseExample } from './exchange.ts'
import { MARKDOWN_TYPE, type ServedDocument } from './served-document.ts'

/** The file where the commands store the credential. */
const CREDENTIAL_FILE = 'plainpath-agent.json'

const fillTemplate = readTemplate(
  new URL('./auth.template.md', import.meta.url),
  [
    'urls',
    'registration',
    'token',
    'registerCommand',
    'tokenCommand',
    'readCommand',
    'revokeCommand',
    'handOffSkill',
    'useApiSkill',
  ],
  {
    title: API_TITLE,
    file: CREDENTIAL_FILE,
    neverUsed: durationIn('day', RULES.neverUsedMs),
    idle: durationIn('day', RULES.idleMs),
    tokenLifetime: durationIn('hour', RULES.tokenMs),
  },
)

/** Creates `/auth.md`. An agent that follows its quick start registers, gets a token, reads a guide and revokes the token. */
export function createAuthMd(urls: ServiceUrls): ServedDocument {
  // The command registers an agent without a name.
  const { client_name: _, ...registration } = parseExample(
    registerAgent.responses[201],
    registerAgent.responseDocs[201],
    urls,
  )
  const [register, token, read, revoke] = listAgentShellCommands(urls)
  const content = fillTemplate({
    urls,
    registration: formatJson(registration),
    token: formatJson(createToken.responseDocs[200].example?.(urls)),
    registerCommand: register.script,
    tokenCommand: token.script,
    readCommand: read.script,
    revokeCommand: revoke.script,
    handOffSkill: urls.skill('hand-off-to-an-attorney'),
    useApiSkill: urls.skill('use-immigration-guidance-api'),
  })
  return { path: '/auth.md', contentType: MARKDOWN_TYPE, content }
}

/**
 * Formats a command that prints a string member of a JSON object, from a file or from standard input. It works for JSON without
 * spaces, such as the service sends, and for values without quotation marks.
 */
const formatMemberCommand = (name: string, file = '') =>
  `sed -n 's/.*"${name}":"\\([^"]*\\)".*/\\1/p'${file && ` ${file}`}`

/**
 * Lists an agent's steps as commands for a POSIX shell with curl and sed. They must run in one shell and in this order, because
 * later commands use the variables of earlier ones. No command prints a secret or a token.
 */
export const listAgentShellCommands = (urls: ServiceUrls) =>
  [
    {
      description: `Register once. Your credential is stored in ${CREDENTIAL_FILE}; the service does not show it again.`,
      script: `[ -s ${CREDENTIAL_FILE} ] || (umask 077; curl -fsS -X POST ${urls.register} -o ${CREDENTIAL_FILE})
id=$(${formatMemberCommand('client_id', CREDENTIAL_FILE)})
secret=$(${formatMemberCommand('client_secret', CREDENTIAL_FILE)})`,
    },
    {
      description: `Get a token. It lasts ${durationIn('hour', RULES.tokenMs)}.`,
      script: `token=$(curl -fsS -u "$id:$secret" -d grant_type=client_credentials ${urls.token} | ${formatMemberCommand('access_token')})`,
    },
    {
      description: 'Search the guides, and read the best one. This also works without a token.',
      script: `guides=${urls.base}/guides
slug=$(curl -fsS "$guides?q=work+permit&limit=1" | ${formatMemberCommand('slug')})
curl -sS -H "Authorization: Bearer $token" "$guides/$slug"`,
    },
    {
      description: 'Revoke the token when you are done. From then on no API accepts it.',
      script: `curl -sS -u "$id:$secret" -d token="$token" ${urls.revoke}`,
    },
  ] as const
