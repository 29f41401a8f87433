import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { isLoopbackOrigin, Origin } from '@plainpath/metadata'
import { z } from 'zod'

/** Thrown if the service or a command cannot run on this machine. The message is one line that says what to do. */
export class LocalError extends Error {
  override readonly name = 'LocalError'
}

/** The root of the checkout. A relative `DATA_DIR` is resolved against this folder, not against the working directory. */
export const PROJECT_FOLDER = fileURLToPath(new URL('../../..', import.meta.url))

export type Environment = Readonly<Record<string, string | undefined>>

export type LocalSettings = Readonly<ReturnType<typeof readLocalSettings>>

/** The default factor of the rate limits for a loopback origin, which only this machine can reach. */
const LOOPBACK_LIMITS_FACTOR = 100

const Port = z.coerce.number('must be a number').int().min(1).max(65_535)

/**
 * Reads `PORT`, `ORIGIN`, `MCP_PORT`, `DATA_DIR` and `LIMITS_FACTOR` of `npm start`.
 *
 * @throws {LocalError} that names every invalid variable
 */
export function readLocalSettings(env: Environment, projectFolder: string) {
  const parsed = z
    .object({
      PORT: Port.default(8080),
      MCP_PORT: Port.optional(),
      ORIGIN: Origin.optional(),
      DATA_DIR: z.string().default('.data'),
      LIMITS_FACTOR: z.coerce.number('must be a number').positive().max(1_000_000).optional(),
    })
    // An empty variable counts as unset.
    .safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value)))
  if (!parsed.success) {
    throw new LocalError(
      parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}.`).join(' '),
    )
  }
  const { PORT: port, ORIGIN, MCP_PORT, DATA_DIR, LIMITS_FACTOR } = parsed.data
  const origin = ORIGIN ?? `http://localhost:${port}`
  return {
    port,
    origin,
    publicMcp: choosePublicMcp(origin, MCP_PORT ?? port + 1),
    /** An absolute path. */
    dataDirectory: path.resolve(projectFolder, DATA_DIR),
    limitsFactor: LIMITS_FACTOR ?? (isLoopbackOrigin(origin) ? LOOPBACK_LIMITS_FACTOR : 1),
  }
}

/**
 * Returns the port and origin of the MCP server that works without sign-in. Returns undefined for an `https` origin, because such
 * an origin is assumed to serve other machines, which cannot reach the second port.
 */
const choosePublicMcp = (origin: string, port: number) =>
  origin.startsWith('http:') ? { port, origin: `http://localhost:${port}` } : undefined
