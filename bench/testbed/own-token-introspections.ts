import { z } from 'zod'
import { cycle, type Target } from '../load/target.ts'
import { formatIntrospection } from './format-requests.ts'
import { issueTokens } from './register-agents.ts'
import { basicAuthorization, FORM_HEADERS, sendUntilServed } from './send-request.ts'

const ActiveToken = z.object({ active: z.literal(true) })

/**
 * Creates requests in which a client of a baseline introspects its own tokens. The first call of `prepare` requests the tokens, and
 * checks that the baseline reports one of them as active.
 *
 * @param options.count the number of tokens
 */
export function createOwnTokenIntrospections(options: {
  port: number
  paths: { readonly token: string; readonly introspection: string }
  client: { readonly id: string; readonly secret: string }
  count: number
}): Pick<Target, 'next'> & Required<Pick<Target, 'prepare'>> {
  const { port, paths, client, count } = options
  const authorization = basicAuthorization(client.id, client.secret)
  const headers = { ...FORM_HEADERS, ...authorization }
  let nextRequest: (() => Buffer) | undefined
  return {
    async prepare() {
      if (nextRequest) return
      const tokens = await issueTokens(count, { port, path: paths.token, client })
      const [body = ''] = tokens.map((token) => `token=${token}`)
      ActiveToken.parse(await sendUntilServed(port, paths.introspection, { method: 'POST', headers, body }))
      nextRequest = cycle(
        tokens.map((token) => formatIntrospection(paths.introspection, authorization, token)),
      )
    },
    next() {
      if (!nextRequest) throw new Error('prepare was not called')
      return nextRequest()
    },
  }
}
