/** An agent that registered itself; it knows only what documents told it. */
export interface RegisteredAgent {
  readonly client_id: string
  readonly client_secret: string
}

export const basicOf = ({ client_id, client_secret }: RegisteredAgent) =>
  `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`

/** @param address the `register_uri` of the metadata */
export async function registerAt(address: string, type?: string): Promise<RegisteredAgent> {
  const response = await fetch(address, {
    method: 'POST',
    ...(type !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type }),
    }),
  })
  if (response.status !== 201) throw new Error(`registration was answered ${response.status}`)
  return (await response.json()) as RegisteredAgent
}

export interface TokenAnswer {
  readonly status: number
  readonly access_token?: string
  readonly scope?: string
}

/** @param method as in `token_endpoint_auth_methods_supported` */
export async function tokenAt(
  address: string,
  agent: RegisteredAgent,
  parameters: Record<string, string>,
  method = 'client_secret_basic',
): Promise<TokenAnswer> {
  const basic = method === 'client_secret_basic'
  const { client_id, client_secret } = agent
  const response = await fetch(address, {
    method: 'POST',
    headers: basic ? { authorization: basicOf(agent) } : {},
    body: new URLSearchParams({ ...parameters, ...(!basic && { client_id, client_secret }) }),
  })
  return { ...((await response.json()) as object), status: response.status }
}
