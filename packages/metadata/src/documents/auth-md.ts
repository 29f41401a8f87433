import { durationIn, RULES } from '@plainpath/domain'
import { registerAgent } from '../operations/agents.ts'
import { createToken } from '../operations/oauth.ts'
import { readTemplate } from '../read-template.ts'
import { API_TITLE, type ServiceUrls } from '../service-urls.ts'
import { findExample, pretty } from './exchange.ts'
import { MARKDOWN_TYPE, type ServedDocument } from './served-document.ts'

/** Where the commands store the credential. */
const FILE = 'plainpath-agent.json'

const fillIn = readTemplate(
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
    file: FILE,
    neverUsed: durationIn('day', RULES.neverUsedMs),
    idle: durationIn('day', RULES.idleMs),
    tokenLasts: durationIn('hour', RULES.tokenMs),
  },
)

/** `/auth.md`: an agent that reads it from top to bottom gets a token, reads a guide and leaves. */
export function authMd(urls: ServiceUrls): ServedDocument {
  // As the command registers, without a name.
  const { client_name: _, ...registration } = findExample(
    registerAgent.responses[201],
    registerAgent.outcomes[201],
    urls,
  )
  const [register, token, read, revoke] = agentCommands(urls)
  const content = fillIn({
    urls,
    registration: pretty(registration),
    token: pretty(createToken.outcomes[200].example?.(urls)),
    registerCommand: register.line,
    tokenCommand: token.line,
    readCommand: read.line,
    revokeCommand: revoke.line,
    handOffSkill: urls.skill('hand-off-to-an-attorney'),
    useApiSkill: urls.skill('use-immigration-guidance-api'),
  })
  return { path: '/auth.md', contentType: MARKDOWN_TYPE, content }
}

const member = (name: string, file = '') =>
  `sed -n 's/.*"${name}":"\\([^"]*\\)".*/\\1/p'${file && ` ${file}`}`

/**
 * The journey of an agent as lines for a POSIX shell that work when they are pasted in this order, with nothing but curl
 * and sed. A later line uses the variables of an earlier one; no line prints a secret or a token.
 */
export const agentCommands = (urls: ServiceUrls) =>
  [
    {
      does: `Register once. Your credential is stored in ${FILE}; the service does not show it again.`,
      line: `[ -s ${FILE} ] || (umask 077; curl -fsS -X POST ${urls.register} -o ${FILE})
id=$(${member('client_id', FILE)})
secret=$(${member('client_secret', FILE)})`,
    },
    {
      does: `Get a token. It lasts ${durationIn('hour', RULES.tokenMs)}.`,
      line: `token=$(curl -fsS -u "$id:$secret" -d grant_type=client_credentials ${urls.token} | ${member('access_token')})`,
    },
    {
      does: 'Search the guides, and read the best one. This also works without a token.',
      line: `guides=${urls.base}/guides
slug=$(curl -fsS "$guides?q=work+permit&limit=1" | ${member('slug')})
curl -sS -H "Authorization: Bearer $token" "$guides/$slug"`,
    },
    {
      does: 'Revoke the token when you are done. From then on no API accepts it.',
      line: `curl -sS -u "$id:$secret" -d token="$token" ${urls.revoke}`,
    },
  ] as const
