import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

/** A container engine that stores its images, containers, networks and volumes in a folder of its own. */
export interface Engine extends AsyncDisposable {
  /** Runs a podman command and returns its trimmed standard output. @throws {Error} if the command fails */
  podman(...args: readonly string[]): Promise<string>
  /** Runs a buildah command and returns its trimmed standard output. @throws {Error} if the command fails */
  buildah(...args: readonly string[]): Promise<string>
  /** Runs a podman command and returns its exit code (1 after a signal or time-out) and output. A failure does not throw. */
  tryPodman(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }>
  /**
   * Creates an image from the files in a folder, which `tar` reads.
   *
   * @param changes Dockerfile instructions, such as `USER 65532`
   * @throws {Error} if `tar` or the import fails; then there is no image
   */
  importImage(sourceFolder: string, imageName: string, changes?: readonly string[]): Promise<void>
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024
const COMMAND_TIMEOUT_MS = 1_200_000

/**
 * Prepares a folder for the engine, and removes what an earlier run left there, except images.
 *
 * @param options.keepImages true to keep the images and the folder when the engine is disposed; otherwise the folder is deleted
 */
export async function openEngine(folder: string, { keepImages = false } = {}): Promise<Engine> {
  await mkdir(folder, { recursive: true })
  const configFile = path.join(folder, 'containers.conf')
  // The ulimits are set here, because a pod has no option for them. They are low, because a container cannot exceed the limits of
  // its host.
  await writeFile(
    configFile,
    `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "${path.join(folder, 'networks')}"
`,
  )
  const storage = ['--root', path.join(folder, 'storage'), '--runroot', path.join(folder, 'run')]
  const env = { ...process.env, CONTAINERS_CONF: configFile }
  const options = { env, maxBuffer: MAX_OUTPUT_BYTES, timeout: COMMAND_TIMEOUT_MS }
  const run = async (program: string, args: readonly string[]) =>
    (await promisify(execFile)(program, [...storage, ...args], options)).stdout.trim()
  const podman = (...args: readonly string[]) => run('podman', args)
  const tryPodman = (...args: readonly string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      execFile('podman', [...storage, ...args], options, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout: stdout.trim(), stderr: stderr.trim() }),
      )
    })
  const removeAllButImages = async () => {
    await tryPodman('pod', 'rm', '--all', '--force')
    await tryPodman('rm', '--all', '--force', '--time', '0')
    await tryPodman('secret', 'rm', '--all')
    await tryPodman('network', 'prune', '--force')
    await tryPodman('volume', 'prune', '--force')
  }
  await removeAllButImages()
  return {
    podman,
    tryPodman,
    buildah: (...args) => run('buildah', args),
    async importImage(sourceFolder, imageName, changes = []) {
      const tarProcess = spawn('tar', ['-C', sourceFolder, '-c', '.'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const args = [
        ...storage,
        'import',
        ...changes.flatMap((change) => ['--change', change]),
        '-',
        imageName,
      ]
      const importProcess = spawn('podman', args, { env, stdio: [tarProcess.stdout, 'ignore', 'inherit'] })
      const importing = requireSuccess(importProcess, 'podman import').catch((error: unknown) => {
        // Otherwise, tar would wait for a reader of its output.
        tarProcess.kill()
        throw error
      })
      const reading = requireSuccess(tarProcess, 'tar')
      const failure = (await Promise.allSettled([importing, reading])).find(
        ({ status }) => status === 'rejected',
      )
      if (!failure) return
      // If `tar` fails, podman still imports what `tar` wrote.
      await tryPodman('rmi', '--force', imageName)
      throw (failure as PromiseRejectedResult).reason
    },
    async [Symbol.asyncDispose]() {
      await removeAllButImages()
      if (keepImages) return
      await tryPodman('rmi', '--all', '--force')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Waits until a process ends. @throws {Error} if it cannot be started or its exit code is not 0 */
async function requireSuccess(child: ChildProcess, name: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  child.once('error', reject)
  child.once('exit', (code, signal) =>
    code === 0 ? resolve() : reject(new Error(`${name} ended with ${signal ?? `exit code ${code}`}`)),
  )
  await promise
}
