import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  test: {
    environment: "node",
    include: ["tests/**/*.test.{ts,tsx}"],
    setupFiles: ["tests/setup.ts"],
    restoreMocks: true,
    coverage: { provider: "v8", include: ["src/**"], exclude: ["src/markdown/lazy/**"], reporter: ["text-summary", "text"] },
  },
});
