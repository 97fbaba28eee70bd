// A headless Chromium of our own, spoken to over its DevTools pipe: no package, no port.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--remote-debugging-pipe",
  "--force-color-profile=srgb", "--hide-scrollbars",
];

export async function launch(program) {
  const profile = mkdtempSync(join(tmpdir(), "coalesce-browser-"));
  const child = spawn(program, [...FLAGS, `--user-data-dir=${profile}`, "about:blank"], {
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    detached: true,  // a process group of its own, so that its helpers end with it
  });
  const pending = new Map(), listeners = new Set();
  let id = 0, rest = "";
  const fail = (why) => {
    for (const { reject } of pending.values()) reject(new Error(why));
    pending.clear();
  };
  child.on("error", (error) => fail(String(error)));
  child.on("exit", (code) => fail(`the browser ended with ${code}`));
  child.stdio[3].on("error", () => {});
  child.stdio[4].setEncoding("utf8");
  child.stdio[4].on("data", (chunk) => {
    const parts = (rest + chunk).split("\0");
    rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part);
      if (message.id === undefined) {
        for (const listener of listeners) listener(message);
        continue;
      }
      const { resolve, reject } = pending.get(message.id) ?? {};
      pending.delete(message.id);
      if (message.error) reject?.(new Error(message.error.message));
      else resolve?.(message.result);
    }
  });
  const send = (method, params = {}, sessionId) =>
    new Promise((resolve, reject) => {
      pending.set(++id, { resolve, reject });
      child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    });
  return {
    // A tab with nothing in it. `console`, `requests`: what it said and asked for, all its life.
    async tab() {
      const { targetId } = await send("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
      const call = (method, params) => send(method, params, sessionId);
      const tab = { call, console: [], requests: [] };
      const waiting = [];
      listeners.add(({ method, params, sessionId: from }) => {
        if (from !== sessionId) return;
        if (method === "Runtime.consoleAPICalled") tab.console.push(params.args.map((a) => a.value ?? a.description).join(" "));
        if (method === "Runtime.exceptionThrown") tab.console.push(params.exceptionDetails.exception?.description ?? "exception");
        if (method === "Log.entryAdded") tab.console.push(params.entry.text);
        if (method === "Network.requestWillBeSent") tab.requests.push(params.request.url);
        for (const wait of waiting) if (wait.method === method) wait.resolve(params);
      });
      for (const domain of ["Page", "Runtime", "Log", "Network"]) await call(`${domain}.enable`);
      tab.event = (method) => new Promise((resolve) => waiting.push({ method, resolve }));
      tab.open = async (url) => {
        const loaded = tab.event("Page.loadEventFired");
        await call("Page.navigate", { url });
        await loaded;
      };
      // The value of a JavaScript expression in the page.
      tab.evaluate = async (expression) => {
        const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
      };
      tab.key = async (key, extra = {}) => {
        const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
        const codes = { Tab: 9, Enter: 13, Backspace: 8, ArrowUp: 38, ArrowDown: 40, " ": 32 };
        const event = { key, code: key, windowsVirtualKeyCode: codes[key] ?? key.toUpperCase().charCodeAt(0), text, ...extra };
        await call("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", ...event });
        await call("Input.dispatchKeyEvent", { type: "keyUp", ...event, text: undefined });
      };
      tab.size = (width, height, scale = 1, mobile = false) =>
        call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile });
      tab.scheme = (value) => call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
      tab.screenshot = async (whole = false) =>
        Buffer.from((await call("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole })).data, "base64");
      return tab;
    },
    async close() {
      await Promise.race([send("Browser.close").catch(() => {}), new Promise((r) => setTimeout(r, 3000))]);
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // it has ended
      }
      for (let i = 0; i < 20; ++i) {
        try {
          rmSync(profile, { recursive: true, force: true });
          break;
        } catch {
          await new Promise((r) => setTimeout(r, 100));
        }
      }
    },
  };
}
