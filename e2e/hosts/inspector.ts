import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { startManagedProcess } from '@plainpath/stack/managed-process'

/** MCP Inspector as it is published: its own server, which serves its own page. */
export interface Inspector extends AsyncDisposable {
  /** Creates the URL of the inspector's page, which then connects to the MCP server at `serverUrl` by itself. */
  createConnectUrl(serverUrl: string): string
}

/** The file behind its program `mcp-inspector`; the package has no other entry. */
const LAUNCHER = '@modelcontextprotocol/inspector/clients/launcher/build/index.js'

/** Starts the inspector. @param folder contains its log and its home, so that it does not use files of this machine */
export async function startInspector(folder: string): Promise<Inspector> {
  const [port = 0] = await reserveFreePorts(1)
  const token = randomBytes(16).toString('hex')
  const home = path.join(folder, 'inspector')
  await mkdir(home, { recursive: true })
  const catalog = path.join(home, 'servers.json')
  await writeFile(catalog, JSON.stringify({ mcpServers: {} }))
  const program = fileURLToPath(import.meta.resolve(LAUNCHER))
  const inspectorProcess = await startManagedProcess({
    name: 'inspector',
    command: [process.execPath, program, '--web'],
    env: {
      HOME: home,
      CLIENT_PORT: String(port),
      MCP_INSPECTOR_API_TOKEN: token,
      MCP_AUTO_OPEN_ENABLED: 'false',
      MCP_CATALOG_PATH: catalog,
      MCP_INSPECTOR_SECRET_STORE: 'memory',
    },
    logFile: path.join(folder, 'inspector.log'),
    readyLine: 'up and running',
  })
  return {
    createConnectUrl(serverUrl) {
      const query = new URLSearchParams({ serverUrl, transport: 'http', autoConnect: token })
      return `http://localhost:${port}/?${query.toString()}`
    },
    [Symbol.asyncDispose]: () => inspectorProcess[Symbol.asyncDispose](),
  }
}
