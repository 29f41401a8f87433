import type { ServiceUrls } from '../service-urls.ts'

export interface AgentCommand {
  /** What the line does, in words. */
  readonly does: string
  /** For a POSIX shell; a later line uses the variables of an earlier one. */
  readonly line: string
}

/** The journey of an agent as lines that work when they are pasted in this order, with nothing but curl and sed. */
export function agentCommands(urls: ServiceUrls): readonly AgentCommand[] {
  const member = (name: string) => `sed -n 's/.*"${name}":"\\([^"]*\\)".*/\\1/p'`
  return [
    {
      does: 'Register. Keep the answer: the secret is shown once.',
      line: `agent=$(curl -sS -X POST ${urls.register}); echo "$agent"
id=$(echo "$agent" | ${member('client_id')})
secret=$(echo "$agent" | ${member('client_secret')})`,
    },
    {
      does: 'Get a token. It lasts an hour.',
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
  ]
}
